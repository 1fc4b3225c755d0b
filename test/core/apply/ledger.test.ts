import assert from "node:assert/strict";
import { test } from "node:test";
import { hasEnded, ledgerOf } from "../../../src/core/apply/ledger.ts";
import type { JournalEntry } from "../../../src/model/artefact.ts";

const about = { plan: "p", from: 0, to: 2, at: "2026-01-01T00:00:00.000Z" };
const begin: JournalEntry = { do: "begin", ...about, by: "a test" };
const out: JournalEntry = { do: "void", ...about, why: "left out", rows: ["node:a", "port:x"] };
const undo = (nodes: "all" | readonly string[]): JournalEntry => ({
  ...{ do: "undo", ...about, by: "a test", nodes },
});

function done(...failed: readonly string[]): JournalEntry {
  return { do: "done", ...about, created: 1, found: [], failed };
}

/** What happened, and which of the nodes a and b ended. */
const STORIES: readonly (readonly [string, readonly JournalEntry[], string])[] = [
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
    const ledger = ledgerOf(entries, "p");
    const found = ["a", "b"].filter((node) => hasEnded(ledger, { from: 0, to: 2 }, node));
    assert.equal(found.join(""), ended);
  });
