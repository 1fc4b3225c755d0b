import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import type { RunFiles } from "../../src/run/files/run-files.ts";
import { stageNote } from "../../src/window/runner/next-step.ts";
import { statusOf } from "../../src/window/runner/status.ts";
import { COUNTS, SHA, SNAPSHOT } from "../support/run-files.ts";

const SPAN = { part: "ironic", plan: SHA, from: 0, to: 2, at: "2026-11-21T00:00:00Z" } as const;
const BEGIN: Entry = { do: "begin", ...SPAN, by: "root@host", staged: true };
const DONE: Entry = { do: "done", ...SPAN, created: 4, found: [] };
const UNDO: Entry = { do: "undo", ...SPAN, nodes: "all", by: "root@host" };
const UNDONE: Entry = {
  ...{ do: "undone", ...SPAN, removed: 4, gone: 0, settled: [], conflicts: [] },
};
const JOURNAL = { journal: { entries: [BEGIN, DONE] } };
const BACK = { journal: { entries: [BEGIN, DONE, UNDO, UNDONE] } };
const NONE = { missing: "N2I-E110 there is none" };
const PLAN: RunFiles["plan"] = {
  counts: COUNTS,
  ...{ sha256: SHA, madeFrom: "b".repeat(64), release: "2023.1" },
};
const HELD_UP = { ...PLAN, counts: { ...COUNTS, verdicts: { ...COUNTS.verdicts, blocked: 1 } } };
const NOTHING = {
  ...PLAN,
  counts: { ...COUNTS, verdicts: { ...COUNTS.verdicts, create: 0, blocked: 2 } },
};
const STEPS = { hosts: 1, flavors: 0, findings: 0, stopped: [] };
const BESIDE = { plan: { sha256: SHA, counts: STEPS }, entries: [] };
const STAGED = { staged: 2, released: 0, takeOvers: 2 };
const OPEN = { journal: { entries: [BEGIN] } };

/** A stage, what the run's files are then, and the next command line without the run and the comment. */
const STAGES: readonly (readonly [string, Partial<RunFiles>, string])[] = [
  ["extract was killed", { snapshot: NONE, plan: NONE }, "extract"],
  ["extracted", { plan: NONE, hasReadings: false }, "power"],
  ["asked", { plan: NONE }, "plan --ironic-db DB"],
  ["planned", {}, "apply"],
  ["machines are blocked", { plan: HELD_UP }, "show"],
  ["its site document is changed", { plan: HELD_UP, outdated: true }, "plan --ironic-db DB"],
  ["nothing loads", { plan: NOTHING }, "show"],
  ["nothing loads, power is newer", { plan: NOTHING, outdated: true }, "plan --ironic-db DB"],
  [
    "planned without Nova",
    { nova: { plan: null, entries: [] } },
    "plan --nova-db DB --ironic-db DB",
  ],
  ["apply was killed", OPEN, "apply --yes"],
  ["apply was killed, staged", { ...OPEN, handover: STAGED }, "apply --yes --staged"],
  ["apply left machines out", { ...OPEN, plan: HELD_UP }, "apply --yes --skip-blocked"],
  ["loaded, staged", { ...JOURNAL, handover: STAGED, compared: true }, "handover"],
  ["released", { ...JOURNAL, handover: { ...STAGED, released: 2 } }, "verify --takeover"],
  ["loaded", JOURNAL, "verify"],
  ["its journal is spoilt", { journal: NONE }, "verify"],
  ["rolled back", BACK, "plan --ironic-db DB"],
  [
    "rolled back without Nova",
    { ...BACK, nova: { plan: null, entries: [], remaining: { rows: 7, machines: "all" } } },
    "rollback --all",
  ],
];

test("the next command line has the run, and the options that choose what the command does", () => {
  for (const [stage, files, line] of STAGES) {
    const { next } = statusOf({
      ...{ snapshot: SNAPSHOT, plan: PLAN, nova: BESIDE, handover: null },
      ...{ journal: { entries: [] }, run: "a run's folder", hasReadings: true },
      ...files,
    });
    const [command, ...options] = line.split(" ");
    const path = "'a run'\\''s folder";
    const of = command === "show" ? `${path}/plan' --skipped` : `--run ${path}'`;
    const wanted = ["nova2ironic", command, of, ...options].join(" ");
    assert.equal(next.replace(/ {2}# .*$/, ""), wanted, stage);
  }
  assert.match(stageNote({ command: "apply" }, "apply"), /first write/);
  assert.match(stageNote({ command: "apply", options: { yes: true } }, "apply"), /^It resumes /);
});
