import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, IRONIC } from "../../../src/model/journal.ts";
import { NOVA_NAMES } from "../../../src/model/nova/nova-plan.ts";
import type { RunFiles } from "../../../src/run/files/run-files.ts";
import { checkRenewable, planAnew } from "../../../src/window/runner/perform-stage.ts";
import {
  isDecision,
  machinesNotInIronic,
  nextOf,
  stepOf,
} from "../../../src/window/runner/pipeline.ts";
import { COUNTS, PLAN, SHA, SNAPSHOT } from "../../support/run-files.ts";

const AT = "2026-11-21T00:00:00Z";
const ABOUT = { part: IRONIC, plan: SHA, from: 0, to: 4, at: AT };
const loaded = (nova: "follows" | "left"): readonly Entry[] => [
  { do: "begin", ...ABOUT, by: "root@host", nova },
  { do: "done", ...ABOUT, created: 4, found: [] },
];
const LOADED = loaded("follows");
const GONE = { missing: "N2I-E111 it has no footer" };
const FILES = {
  ...{ snapshot: SNAPSHOT, handover: null, run: "m1", hasReadings: true },
  plan: PLAN,
  journal: { entries: LOADED },
} satisfies RunFiles;

test("what is loaded is not read anew without a word, whichever files are damaged besides", () => {
  const isRequested = (more: Partial<RunFiles>): boolean => {
    const step = stepOf({ ...FILES, snapshot: GONE, ...more });
    assert.equal(step?.command, "extract");
    return isDecision(step);
  };
  assert.equal(isRequested({}), true);
  assert.equal(isRequested({ plan: GONE }), true);
  assert.equal(isRequested({ journal: GONE }), true);
  assert.equal(isRequested({ journal: { entries: [] } }), false);
});

test("a plan that is made again for its files of Nova says which of them it is", () => {
  assert.deepEqual(stepOf({ ...FILES, nova: GONE })?.again, GONE.missing);
  const other = { ...PLAN, madeFrom: "c".repeat(64) };
  const { again } = stepOf({ ...FILES, plan: other, nova: GONE }) ?? {};
  assert.equal(again, "it was made from a different snapshot");
});

test("a plan whose readings are too old is not made again once Nova's rows are changed by it", () => {
  const [name = ""] = NOVA_NAMES;
  const changed: readonly Entry[] = [
    { do: "begin", ...ABOUT, part: name, by: "root@host" },
    { do: "done", ...ABOUT, part: name, created: 1, found: [] },
  ];
  checkRenewable(FILES);
  assert.throws(() => checkRenewable({ ...FILES, journal: { entries: changed } }), {
    code: "N2I-E328",
    message: /readings are too old or from a different plan, and some of the Nova rows/,
    fix: /--power-max-age\. Or roll back first: nova2ironic rollback --run m1 --all/,
  });
});

test("a load that was stopped before Nova's rows goes on with them, staged or not", () => {
  const counts = { hosts: 3, flavors: 1, findings: 0, stopped: [] };
  const nova = (part: string, to: number): readonly Entry[] => [
    { do: "begin", ...ABOUT, part, to, by: "root@host" },
    { do: "done", ...ABOUT, part, to, created: to, found: [] },
  ];
  const opened: Entry = { do: "target", system: "nova", target: {}, at: AT };
  const next = (more: Partial<RunFiles>, ...entries: Entry[]) => after(LOADED, more, ...entries);
  const after = (ironic: readonly Entry[], more: Partial<RunFiles>, ...entries: Entry[]) => {
    const all = [...entries, ...ironic];
    const files = { nova: { plan: { sha256: SHA, counts }, entries: all }, ...more };
    return stepOf({ ...FILES, ...files, journal: { entries: all } });
  };
  const hosts = nova("nova-hosts", 3);
  const flavors = nova("nova-flavors", 1);
  for (const handover of [null, { staged: 2, released: 0, takeOvers: 2 }]) {
    for (const entries of [flavors, [opened], [...flavors, ...hosts.slice(0, 1)]]) {
      const step = next({ handover }, ...entries);
      assert.deepEqual([step?.command, step?.options], ["apply", { yes: true }]);
    }
    const verified = { rows: true, takeover: false, final: false };
    for (const step of [
      next({ handover }, ...flavors, ...hosts),
      // It was to leave Nova.
      after(loaded("left"), { handover }),
      after(loaded("left"), { handover }, opened),
      next({ handover, verified }, ...flavors),
    ])
      assert.notEqual(step?.command, "apply");
  }
});

test("a rollback under way comes before a plan that is wanted otherwise", () => {
  const back = { command: "rollback" } as const;
  const files = { ...FILES, journal: { entries: [] } };
  const words = { run: "m1", hookTimeout: 1, staged: false, skipBlocked: false };
  const wanted = { ...words, allowOtherNodes: true };
  const changed = ["allow-other-nodes"];
  assert.equal(planAnew({ command: "apply" }, files, wanted, changed)?.command, "plan");
  assert.equal(planAnew(back, files, wanted, changed), back);
  // A saved decision that was changed after the plan was applied is for the next plan.
  assert.equal(planAnew({ command: "verify" }, FILES, words, changed)?.command, "verify");
  assert.throws(() => planAnew({ command: "verify" }, FILES, wanted, changed), /was applied/);
});

test("a run that is done names what it left, a line that can be pasted each, and conflicts apart", () => {
  const finish = { end: { at: AT, by: "root@host" }, guards: true };
  const left = (blocked: number, conflict: number): RunFiles => {
    const verdicts = { ...COUNTS.verdicts, blocked, conflict };
    return { ...FILES, plan: { ...PLAN, counts: { ...COUNTS, verdicts } }, finish };
  };
  assert.deepEqual(machinesNotInIronic(left(0, 0)), []);
  assert.equal(nextOf(left(1, 2)), "nothing, this run is done");
  assert.deepEqual(machinesNotInIronic(left(1, 0)), [
    "1 machine is left behind: nova2ironic show m1/plan --match Verdict=blocked",
    "Once the causes are fixed: nova2ironic extract --run m1",
    "then: nova2ironic power --run m1",
    "then: nova2ironic run --run m1",
  ]);
  assert.deepEqual(machinesNotInIronic(left(0, 2)), [
    "2 machines are in conflict with existing Ironic rows: nova2ironic show m1/plan --match Verdict=conflict",
  ]);
});
