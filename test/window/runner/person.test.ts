import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sink } from "../../../src/run/sink.ts";
import { until } from "../../../src/window/runner/wait-for-operator.ts";

/** What is said while these are missing, look by look. */
async function said(missing: readonly string[]): Promise<readonly string[]> {
  const told: string[] = [];
  // Nothing else of it is used.
  const sink = { report: (text: string) => told.push(text) } as unknown as Sink;
  const looks = [...missing];
  await until(() => Promise.resolve(looks.shift() ?? null), { every: 0.001, sink });
  return told;
}

test("what is waited for is said once while it only comes closer, and anew when it is another thing", async () => {
  const waiting = [3, 2, 1].map((count) => `${count} machines wait.`);
  const told = await said([...waiting, "start it."]);
  const short = told.map((text) => text.replace(/ It checks.*/, ""));
  assert.deepEqual(short, ["Waiting: 3 machines wait.", "Waiting (under 1 s): start it."]);
  assert.match(
    told[0] ?? "",
    /It checks every 0.001 s. To stop, press Ctrl-C. The same command resumes/,
  );
});
