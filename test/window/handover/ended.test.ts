import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../../src/model/journal.ts";
import { endOf } from "../../../src/run/finished.ts";

test("a run is ended by finish, until something is loaded, all protected again or all taken back", () => {
  const by = "a test";
  const at = "2026-01-02T00:00:00.000Z";
  const of = { at, by } as const;
  const end = { do: "close", plan: "p", ...of } as const;
  const span = { part: "ironic", plan: "p", from: 0, to: 1, at, by } as const;
  const begin: Entry = { do: "begin", ...span };
  const undo = (nodes: "all" | readonly string[]): Entry => ({ do: "undo", ...span, nodes });
  assert.deepEqual(endOf([begin, end]), { at, by });
  assert.equal(endOf([begin]), null);
  assert.equal(endOf([begin, end, begin]), null);
  assert.equal(endOf([end, undo("all")]), null);
  assert.notEqual(endOf([end, undo(["one"])]), null);
  // What becomes of Nova's rows ends nothing.
  assert.notEqual(endOf([end, { ...begin, part: "nova-hosts" }]), null);
  // One machine alone: Nova manages the others.
  assert.notEqual(endOf([end, { do: "returned", part: "finish", id: "n", at }]), null);
  assert.equal(endOf([end, { do: "reopen", ...of }]), null);
  assert.notEqual(endOf([{ do: "returned", part: "finish", id: "n", at }, end]), null);
});
