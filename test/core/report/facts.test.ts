import assert from "node:assert/strict";
import { test } from "node:test";
import type { Totals } from "../../../src/core/report/facts.ts";
import { createTotals } from "../../../src/core/report/tally.ts";
import { judge, type Standing } from "../../../src/core/report/verdict.ts";
import { duration, windowSteps } from "../../../src/core/report/window.ts";
import { finding } from "../../../src/model/finding.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";
import { accepted, COUNTS, HEADER, MACHINES, machineOf } from "../../report/sample.ts";

const BEFORE: Standing = { load: "none", staged: 0, verified: "no", ended: false };
const NOVA = { counts: { hosts: 0, flavors: 0, findings: 0, stopped: [] } };

const JUDGED = { header: HEADER, counts: COUNTS, nova: NOVA, fresh: true };
const ASKED = {
  ...{ machines: 0, rows: 0, stopped: [], perMinute: null, boots: false },
  measured: { ran: [], loaded: null, handed: null },
};

function totalsOf(machines: readonly PlannedMachine[]): Totals {
  const tally = createTotals();
  for (const machine of machines) tally.add(machine);
  return tally.end(COUNTS);
}

test("findings are counted by machine, open apart from accepted, those of no machine too", () => {
  const { found } = totalsOf(MACHINES);
  const counts = found.map((one) => [
    one.code,
    one.machines,
    one.open,
    one.accepted,
    one.elsewhere,
  ]);
  assert.deepEqual(counts, [
    ["N2I-D600", 2, 2, 0, 0],
    ["N2I-D308", 1, 0, 0, 0],
    ["N2I-D604", 1, 0, 1, 0],
    ["N2I-D304", 1, 1, 0, 0],
    ["N2I-D013", 0, 0, 0, 3],
  ]);
});

test("a finding that one place of a machine has open and another accepted is open", () => {
  const both = [accepted("N2I-D604", "known"), finding("N2I-D604", "bm_nodes.id=1", "again")];
  const [one] = totalsOf([machineOf(1, "blocked", both)]).found.filter(
    ({ code }) => code === "N2I-D604",
  );
  assert.deepEqual([one?.open, one?.accepted], [1, 0]);
});

test("what somebody accepted is amber, whatever was accepted for however many machines", () => {
  const counts = { ...COUNTS, verdicts: { ...COUNTS.verdicts, blocked: 0 } };
  const judged = { ...JUDGED, counts, standing: BEFORE };
  const clean = totalsOf([machineOf(1, "create")]);
  assert.equal(judge({ ...judged, totals: clean }).level, "ready");
  const risky = totalsOf([machineOf(1, "create", [accepted("N2I-D604", "known")])]);
  assert.equal(judge({ ...judged, totals: risky }).level, "risks");
  // A warning that was accepted is none: the machine would be loaded without a word.
  const warned = totalsOf([machineOf(1, "create", [accepted("N2I-D304", "known")])]);
  assert.equal(judge({ ...judged, totals: warned }).level, "ready");
  const pairing = { ...HEADER.pairing, allowed: "override" as const };
  const beside = { ...HEADER, beside_others: true as const };
  for (const header of [{ ...HEADER, pairing }, beside])
    assert.equal(judge({ ...judged, header, totals: clean }).level, "risks");
  assert.equal(judge({ ...judged, nova: null, totals: clean }).level, "risks");
});

test("a plan that cannot be applied as it is, is not ready", () => {
  const totals = totalsOf(MACHINES);
  const judged = { ...JUDGED, totals, standing: BEFORE };
  assert.match(judge(judged).title, /^Not ready: 2 of 7 machines cannot be loaded/);
  const none = { ...COUNTS.verdicts, blocked: 0 };
  const loads = { ...COUNTS, verdicts: none };
  const stale = judge({ ...judged, counts: loads, fresh: false });
  assert.match(stale.title, /^Not ready: the plan was made from another snapshot/);
  const nothing = { ...COUNTS, verdicts: { ...none, create: 0, skipped: 7 } };
  assert.match(
    judge({ ...judged, counts: nothing }).title,
    /^Not ready: the plan loads no machine/,
  );
});

test("a plan that is loaded is green once its end was seen, and amber where risks were taken", () => {
  const totals = totalsOf([machineOf(1, "create")]);
  const ended: Standing = { ...BEFORE, load: "whole", ended: true };
  const judged = { ...JUDGED, totals };
  const left = judge({ ...judged, standing: ended });
  assert.match(left.title, /^Loaded: 4 machines of 7 are in Ironic/);
  assert.match(left.lines[0] ?? "", /^2 of 7 machines cannot be loaded as they stand\./);
  assert.equal(left.level, "risks");
  const counts = { ...COUNTS, verdicts: { ...COUNTS.verdicts, blocked: 0 } };
  const of = (more: Partial<Standing>) =>
    judge({ ...judged, counts, standing: { ...BEFORE, load: "whole", ...more } });
  assert.equal(of({ ended: true }).level, "ready");
  for (const [more, title] of [
    [{}, /^Loaded, not verified: 4 machines/],
    [{ verified: "failed" }, /^Loaded, not as planned: .* verify found differences\.$/],
    [{ verified: "yes" }, /^Loaded and verified, not finished/],
    [{ staged: 1 }, /^Loaded, not handed over: .*; 1 machine in maintenance/],
    [{ load: "part" }, /^Partly loaded: /],
  ] as const) {
    assert.match(of(more).title, title);
    assert.equal(of(more).level, "risks");
  }
});

test("a forecast is a measured rate, else what was given, else an estimate that is called one", () => {
  const asked = { ...ASKED, machines: 20_000, rows: 60_000, stopped: ["c1"] };
  const { measured: none } = ASKED;
  const of = (more: object, name: string) =>
    windowSteps({ ...asked, ...more }).find((step) => step.name.startsWith(name));
  assert.deepEqual([of({}, "apply")?.seconds, of({}, "apply")?.basis], [null, "unknown"]);
  const loaded = { ...none, loaded: { count: 6_000, seconds: 6 } };
  assert.equal(of({ measured: loaded }, "apply")?.seconds, 60);
  assert.equal(of({}, "handover")?.basis, "estimate");
  const given = of({ perMinute: 20 }, "handover");
  assert.deepEqual([given?.basis, duration(given?.seconds ?? 0)], ["given", "16 h 40 min"]);
  const handed = { ...none, handed: { count: 10, seconds: 60 } };
  const measured = of({ perMinute: 20, measured: handed }, "handover");
  assert.deepEqual([measured?.basis, measured?.seconds], ["measured", 120_000]);
});

test("a command takes as long as its longest run that did its work", () => {
  const at = "2026-01-02T01:00:00.000Z";
  const of = (command: string, statuses: readonly (number | null)[]) => {
    const ran = statuses.map((status, time) => ({
      ...{ command, at, seconds: 10 * (time + 1), status, result: "", by: "" },
    }));
    const measured = { ran, loaded: null, handed: null };
    return windowSteps({ ...ASKED, rows: 1, measured }).find(({ name }) => name === command)
      ?.seconds;
  };
  assert.equal(of("power", [0, 3, 130, 1]), 20);
  assert.equal(of("apply", [3, 4, 64]), 10);
  assert.equal(of("check", [0, 1, 2, 64]), 30);
  assert.equal(of("extract", [0, null, 3]), 20);
  assert.equal(of("extract", [4]), null);
});

test("a few machines that were handed over are no pace for many", () => {
  const of = (count: number, machines = 300) => {
    const measured = { ran: [], loaded: null, handed: { count, seconds: 180 } };
    return windowSteps({ ...ASKED, machines, measured }).find(({ name }) =>
      name.startsWith("handover"),
    )?.basis;
  };
  assert.deepEqual(
    [of(1), of(8), of(9), of(5, 5)],
    ["estimate", "estimate", "measured", "measured"],
  );
});

test("the window has its steps in the order they are done in", () => {
  const asked = { ...ASKED, machines: 2, rows: 1 };
  const names = (boots: boolean) => windowSteps({ ...asked, boots }).map(({ name }) => name);
  const after = [
    "Restart nova-scheduler, then start the new nova-compute",
    ...["verify --final", "finish"],
  ];
  assert.deepEqual(names(false).slice(-4), ["verify --takeover", ...after]);
  assert.deepEqual(names(true).slice(-5), [
    "verify --takeover",
    "Run nova2ironic boot on each conductor, when it took over",
    ...after,
  ]);
});
