import assert from "node:assert/strict";
import { test } from "node:test";
import { hasEnded, ownershipOf, wasStarted } from "../../src/engine/ownership.ts";
import type { Entry } from "../../src/model/journal.ts";

const OUT = { rows: ["node:a", "port:x"], machines: ["a"] };
const about = { part: "ironic", plan: "p", from: 0, to: 2, at: "2026-01-01T00:00:00.000Z" };
const begin: Entry = { do: "begin", ...about, by: "a test" };
const out: Entry = { do: "aborted", ...about, why: "left out", ...OUT };
const undo = (nodes: "all" | readonly string[]): Entry => ({
  ...{ do: "undo", ...about, by: "a test", nodes },
});

function done(...failed: readonly string[]): Entry {
  return { do: "done", ...about, created: 1, found: [], failed };
}

/** What happened, and which of the nodes a and b ended. */
const STORIES: readonly (readonly [string, readonly Entry[], string])[] = [
  ["nothing", [], ""],
  ["killed", [begin], ""],
  ["whole", [begin, done()], "ab"],
  ["one failed", [begin, done("a")], "b"],
  ["and was settled", [begin, done("a"), begin, done()], "ab"],
  ["a later run was killed", [begin, done(), begin], "ab"],
  ["a later run could not look at one", [begin, done(), begin, done("a")], "ab"],
  ["one failed twice", [begin, done("a"), begin, done("a")], "b"],
  ["one was left out", [out, begin, done()], "b"],
  ["and loaded later", [out, begin, done(), begin, done()], "ab"],
  ["and failed later", [out, begin, done(), begin, done("a")], "b"],
  ["all was taken back", [begin, done(), undo("all")], ""],
  ["one was taken back", [begin, done(), undo(["a"])], "b"],
  ["and loaded again", [begin, done(), undo(["a"]), begin, done()], "ab"],
  ["and its load was killed", [begin, done(), undo(["a"]), begin], "b"],
];

for (const [what, entries, ended] of STORIES)
  test(`nodes that came to their end: ${what}`, () => {
    const ownership = ownershipOf(entries, "ironic", "p");
    const found = ["a", "b"].filter((node) => hasEnded(ownership, { from: 0, to: 2 }, node));
    assert.equal(found.join(""), ended);
  });

test("batches that overlap count where one of them was not taken back", () => {
  const undone: Entry = {
    ...{ do: "undone", ...about, removed: 1, gone: 0, settled: [], conflicts: [] },
  };
  const part: Entry = { ...begin, from: 1, to: 4 };
  const ownership = ownershipOf([begin, done(), undo("all"), undone, part], "ironic", "p");
  const begun = (at: number) => wasStarted(ownership, { from: at, to: at + 1 });
  assert.deepEqual([0, 1, 2, 3, 4].map(begun), [false, true, true, true, false]);
});

test("what rollbacks left counts once, in journals that say it each time too, until one took it back", () => {
  const undone = (
    settled: readonly string[],
    conflicts: readonly string[],
    span = { from: 0, to: 2 },
  ): Entry => ({ ...{ do: "undone", ...about, ...span, removed: 0, gone: 0, settled, conflicts } });
  const back = [begin, done(), undo("all"), undone([], ["node:a", "port:x"])];
  const leftOf = (...more: readonly Entry[]): readonly string[] => [
    ...ownershipOf([...back, ...more], "ironic", "p").skipped,
  ];
  assert.deepEqual(leftOf(), ["node:a", "port:x"]);
  assert.deepEqual(leftOf(undone([], ["node:a", "port:x"])), ["node:a", "port:x"]);
  assert.deepEqual(leftOf(undone(["node:a"], [])), ["port:x"]);
  assert.deepEqual(leftOf(undone(["node:a", "port:x"], [])), []);
  const part = undone(["port:x"], ["node:b"], { from: 0, to: 1 });
  assert.deepEqual(leftOf(part), ["node:a", "node:b"]);
});
