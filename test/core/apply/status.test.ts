import assert from "node:assert/strict";
import { test } from "node:test";
import { type RunFiles, statusOf } from "../../../src/core/apply/status.ts";
import type { JournalEntry } from "../../../src/model/artefact.ts";

const SHA = "a".repeat(64);
const span = { plan: SHA, from: 0, to: 2, at: "2026-11-21T00:00:00Z" };
const LOADED: readonly JournalEntry[] = [
  { do: "begin", ...span, by: "root@host" },
  { do: "done", ...span, created: 4, found: [] },
];
const SNAPSHOT: RunFiles["snapshot"] = {
  counts: { machines: 2, deleted: 0, interfaces: 2, orphans: 0, instances: 0 },
  sha256: "b".repeat(64),
  taken_at: "2026-11-21T00:00:00Z",
};
const PLAN: RunFiles["plan"] = {
  counts: {
    machines: 2,
    nodes: 2,
    ports: 2,
    verdicts: { create: 2, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 },
    findings: {},
  },
  sha256: SHA,
  madeFrom: "b".repeat(64),
  release: "juno",
};
const LOST = { missing: "N2I-E111 plan.jsonl ends within a line" };

test("what was loaded is told though its plan is lost", () => {
  const journal = { entries: LOADED, torn: false };
  const { fields, next } = statusOf({ snapshot: SNAPSHOT, plan: LOST, journal });
  assert.equal(fields.apply, "plan aaaaaaaaaaaa: 4 rows created in 1 batch");
  assert.match(next, /^nova2ironic plan /);
});

test("with a broken journal, verify is next and not apply", () => {
  const journal = { missing: "N2I-E112 journal.jsonl:3 does not follow from line 2" };
  const { fields, next } = statusOf({ snapshot: SNAPSHOT, plan: PLAN, journal });
  assert.match(fields.apply ?? "", /^N2I-E112 /);
  assert.match(next, /^nova2ironic verify /);
});
