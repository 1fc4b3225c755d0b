import assert from "node:assert/strict";
import { test } from "node:test";
import { severalLines } from "../../../src/cli/views/several.ts";

async function told(count: number, all = false) {
  const kept: string[] = [];
  const keep = (line: string): void => void kept.push(line);
  const things = Array.from({ length: count }, (_, at) => ({
    text: `m${at} broke`,
    cause: "broke",
  }));
  const how = { all, width: undefined, keep, every: "grep Failed log" };
  return { lines: await severalLines("Failed", things, async () => null, how), kept };
}

test("of many failures each line is kept, and the command that shows them does nothing again", async () => {
  const { lines, kept } = await told(25);
  assert.deepEqual(
    kept,
    Array.from({ length: 25 }, (_, at) => `Failed: m${at} broke`),
  );
  assert.equal(lines[0], "Failed: 25, by cause.");
  assert.equal(lines.at(-1), "All: grep Failed log");
});

test("what is shown whole is kept as it is shown", async () => {
  for (const [count, all] of [
    [20, false],
    [25, true],
  ] as const) {
    const { lines, kept } = await told(count, all);
    assert.deepEqual([lines.length, kept], [count, []]);
  }
});
