import assert from "node:assert/strict";
import { test } from "node:test";
import { foldText } from "../../../src/lib/table/text.ts";

const fold = (text: string, width: number) => foldText(text, width).split("\n");

test("a line is folded at blanks, and later lines stand further in", () => {
  assert.deepEqual(fold("  N2I-D600 blocks  10  BMC does not answer to anybody", 30), [
    "  N2I-D600 blocks  10  BMC",
    "    does not answer to anybody",
  ]);
  assert.deepEqual(fold("short", 30), ["short"]);
});

test("a word stays whole, and so does what is copied to a command line", () => {
  assert.deepEqual(fold(`see ${"x".repeat(40)} there`, 30), [
    "see",
    `  ${"x".repeat(40)}`,
    "  there",
  ]);
  for (const line of [
    "Next: nova2ironic apply --run a-folder --ironic-db file:/root/ironic.url",
    "or run nova2ironic verify --run a-folder, and wait for its end",
  ])
    assert.deepEqual(fold(line, 30), [line]);
});

test("no line is wider than the screen, and no word is lost", () => {
  const text = "Verify: 296 validated, 0 mismatched, 0 missing, 0 extra; 152 machines left out.";
  for (let width = 15; width < 90; width++) {
    const folded = foldText(text, width);
    for (const line of folded.split("\n")) assert.ok(line.length <= width, line);
    assert.equal(folded.replaceAll(/\n +/g, " "), text);
  }
  assert.equal(foldText(text, undefined), text);
});
