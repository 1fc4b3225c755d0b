import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf } from "../../../src/core/release/ended.ts";
import type { JournalEntry } from "../../../src/model/artefact.ts";

test("a run is ended by finish, until something is loaded, all protected again or all taken back", () => {
  const by = "a test";
  const end = { do: "end", plan: "p", at: "2026-01-02T00:00:00.000Z", by } as const;
  const span = { plan: "p", from: 0, to: 1, by } as const;
  const late = "2026-01-03T00:00:00.000Z";
  const begin = (at: string): JournalEntry => ({ do: "begin", ...span, at });
  const undo = (nodes: "all" | readonly string[]): JournalEntry => ({
    do: "undo",
    ...span,
    at: late,
    nodes,
  });
  const [before, after] = [begin("2026-01-01T00:00:00.000Z"), begin(late)];
  assert.deepEqual(endOf([end], [before]), { at: end.at, by });
  assert.equal(endOf([], [before]), null);
  assert.equal(endOf([end], [before, after]), null);
  assert.equal(endOf([end], [undo("all")]), null);
  assert.notEqual(endOf([end], [undo(["one"])]), null);
  // One machine alone: Nova manages the others.
  assert.notEqual(endOf([end, { do: "guard", node: "n", at: late, by }], []), null);
  assert.equal(endOf([end, { do: "reopen", at: late, by }], []), null);
  assert.notEqual(endOf([{ do: "guard", node: "n", at: end.at, by }, end], []), null);
});
