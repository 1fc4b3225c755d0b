import assert from "node:assert/strict";
import { test } from "node:test";
import { outOfLimits } from "../../../../src/cli/options/declared.ts";
import { WINDOW } from "../../../../src/cli/options/window.ts";
import { duration } from "../../../../src/lib/text.ts";
import { finding } from "../../../../src/model/findings.ts";
import { USUAL_PACE, WINDOW_PACE } from "../../../../src/model/handover.ts";
import type { PlannedMachine } from "../../../../src/model/plan.ts";
import {
  type CurrentState,
  createTotals,
  judge,
} from "../../../../src/window/report/rules/tally.ts";
import {
  clock,
  forecast,
  nightOf,
  nightText,
  plannedWindow,
  stepOf,
} from "../../../../src/window/report/rules/window.ts";
import { accepted, COUNTS, HEADER, MACHINES, machineOf } from "../sample.ts";

const BEFORE: CurrentState = { load: "none", staged: 0, verified: "no", ended: false };
const NOVA = { counts: { hosts: 0, flavors: 0, findings: 0, stopped: [] } };

const JUDGED = { header: HEADER, counts: COUNTS, nova: NOVA, fresh: true };
const ASKED = {
  ...{ machines: 0, takeOvers: 0, rows: 0, stopped: [], perMinute: null, pace: USUAL_PACE },
  ...{ boots: false, staged: true },
  measured: { ran: [], loaded: null, handed: null },
};

function totalsOf(machines: readonly PlannedMachine[]) {
  const tally = createTotals();
  for (const machine of machines) tally.add(machine);
  return tally.end(COUNTS);
}

test("findings are counted by machine, open apart from accepted, those of no machine too", () => {
  const { found } = totalsOf(MACHINES);
  const counts = found.map(({ code, machines, open, accepted, elsewhere }) =>
    [code, machines, open, accepted, elsewhere].join(" "),
  );
  assert.deepEqual(counts, [
    ...["N2I-D600 2 2 0 0", "N2I-D308 1 0 0 0", "N2I-D604 1 0 1 0", "N2I-D304 1 1 0 0"],
    "N2I-D013 0 0 0 3",
  ]);
});

test("a finding that one place of a machine has open and another accepted is open", () => {
  const both = [accepted("N2I-D604", "known"), finding("N2I-D604", "bm_nodes.id=1", "again")];
  const { found } = totalsOf([machineOf(1, "blocked", both)]);
  const one = found.find(({ code }) => code === "N2I-D604");
  assert.deepEqual([one?.open, one?.accepted], [1, 0]);
});

test("what somebody accepted is amber, whatever was accepted for however many machines", () => {
  const counts = { ...COUNTS, verdicts: { ...COUNTS.verdicts, blocked: 0 } };
  const judged = { ...JUDGED, counts, status: BEFORE };
  const clean = totalsOf([machineOf(1, "create")]);
  assert.equal(judge({ ...judged, totals: clean }).level, "ready");
  const risky = totalsOf([machineOf(1, "create", [accepted("N2I-D604", "known")])]);
  assert.equal(judge({ ...judged, totals: risky }).level, "risks");
  // A warning that was accepted is none: the machine would be loaded without a word.
  const warned = totalsOf([machineOf(1, "create", [accepted("N2I-D304", "known")])]);
  assert.equal(judge({ ...judged, totals: warned }).level, "ready");
  const pairing = { ...HEADER.pairing, allowed: "override" as const };
  const beside = { ...HEADER, allow_other_nodes: true as const };
  for (const header of [{ ...HEADER, pairing }, beside])
    assert.equal(judge({ ...judged, header, totals: clean }).level, "risks");
  assert.equal(judge({ ...judged, nova: null, totals: clean }).level, "risks");
});

test("a plan that cannot be applied as it is, is not ready", () => {
  const totals = totalsOf(MACHINES);
  const judged = { ...JUDGED, totals, status: BEFORE };
  assert.match(judge(judged).title, /^Not ready: 2 of 7 machines cannot be loaded/);
  const none = { ...COUNTS.verdicts, blocked: 0 };
  const loads = { ...COUNTS, verdicts: none };
  const stale = judge({ ...judged, counts: loads, fresh: false });
  assert.match(
    stale.title,
    /^Not ready: the plan was made from a snapshot other than the one in this run/,
  );
  const counts = { ...COUNTS, verdicts: { ...none, create: 0, skipped: 7 } };
  assert.match(judge({ ...judged, counts }).title, /^Not ready: the plan loads no machine/);
});

test("a plan that is loaded is green once its end was seen, and amber where risks were taken", () => {
  const totals = totalsOf([machineOf(1, "create")]);
  const ended: CurrentState = { ...BEFORE, load: "whole", ended: true };
  const judged = { ...JUDGED, totals };
  const left = judge({ ...judged, status: ended });
  assert.match(left.title, /^Loaded: 4 machines of 7 are in Ironic/);
  assert.match(left.lines[0] ?? "", /^2 of 7 machines cannot be loaded as they are\./);
  assert.equal(left.level, "risks");
  const counts = { ...COUNTS, verdicts: { ...COUNTS.verdicts, blocked: 0 } };
  const of = (more: Partial<CurrentState>) =>
    judge({ ...judged, counts, status: { ...BEFORE, load: "whole", ...more } });
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
  const asked = { ...ASKED, machines: 20_000, takeOvers: 20_000, rows: 60_000 };
  const { measured: none } = ASKED;
  const of = (more: object, name: string) => stepOf(name, { ...asked, ...more });
  assert.deepEqual([of({}, "apply")?.seconds, of({}, "apply")?.basis], [null, "unknown"]);
  const loaded = { ...none, loaded: { count: 6_000, seconds: 6 } };
  assert.equal(of({ measured: loaded }, "apply")?.seconds, 60);
  assert.equal(of({}, "handover")?.basis, "estimate");
  assert.equal(of({ perMinute: 20 }, "handover")?.seconds, 450_000);
  assert.equal(of({ pace: { ...WINDOW_PACE, interval: 0 } }, "handover")?.seconds, 450_000);
  const given = of({ perMinute: 20, pace: WINDOW_PACE }, "handover");
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
    return stepOf(command, { ...ASKED, rows: 1, measured }).seconds;
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
    return stepOf("handover", { ...ASKED, machines, measured }).basis;
  };
  assert.equal([of(1), of(8), of(9), of(5, 5)].join(), "estimate,estimate,measured,measured");
});

test("a hand-over takes an interval for each pass, whichever limit makes passes small", () => {
  const two = { ...WINDOW_PACE, conductors: 2 };
  for (const [machines, pace, staged, seconds] of [
    ...[[0, USUAL_PACE, true, 0] as const, [1, USUAL_PACE, true, 180] as const],
    ...[[300, USUAL_PACE, true, 6840] as const, [300, WINDOW_PACE, true, 100] as const],
    // 8, 16, 32, and then 40 in each pass.
    ...[[56, WINDOW_PACE, true, 30] as const, [57, WINDOW_PACE, true, 40] as const],
    ...[[300, WINDOW_PACE, false, 80] as const, [300, two, true, 60] as const],
    ...[[300, two, false, 40] as const, [0, two, false, 0] as const],
    ...[[300, { ...USUAL_PACE, interval: 0 }, true, null] as const],
    ...[[300, { ...USUAL_PACE, workers: -1 }, true, null] as const],
  ])
    assert.equal(forecast(machines, pace, staged).seconds, seconds, `${machines} ${staged}`);
  assert.match(forecast(300, two).source, /^80 machines every 10 s, by the p/);
  const { source } = forecast(3, { ...USUAL_PACE, interval: 0 });
  assert.match(source, /sync_local_state_interval is 0/);
});

const ran = [
  { command: "extract", at: "", seconds: 30, status: 0, result: "", by: "" },
  { command: "handover", at: "", seconds: 1, status: 0, result: "", by: "" },
];

test("the night has its steps in order, each with its end and its way back", () => {
  const asked = { ...ASKED, machines: 2, rows: 1, stopped: ["c1", "c2"] };
  for (const { boots, staged } of [
    ...[
      { boots: false, staged: true },
      { boots: true, staged: true },
    ],
    { boots: true, staged: false },
  ]) {
    const night = nightOf({ ...asked, boots, staged, measured: { ...ASKED.measured, ran } });
    const at = (name: string): number => night.findIndex((step) => step.name.includes(`. ${name}`));
    assert.equal(night[at("extract")]?.seconds, 30);
    assert.equal(at("Stop nova-compute on 2 hosts"), 1);
    assert.equal(at("Run nova2ironic boot") > at("verify --takeover"), boots && !staged);
    assert.equal(at("Run nova2ironic boot") > 0, boots);
    assert.equal(at("Hand over one machine") > 0, staged);
    assert.equal(at("handover") > 0, staged);
    let [end, back] = [0, 0];
    for (const step of night) {
      assert.equal(step.begins, end, step.name);
      assert.equal(step.ends, step.begins + step.seconds, step.name);
      assert.ok(step.back >= back && step.back > 0, step.name);
      [end, back] = [step.ends, step.back];
    }
  }
});

test("a window is read by the clock, past midnight too, and anything else is refused", () => {
  assert.deepEqual(plannedWindow("2:00-05:30"), { from: 120, to: 330 });
  assert.deepEqual(plannedWindow("22:00-04:00"), { from: 1320, to: 1680 });
  const wrong = ["", "2-5", "02:00", "24:00-05:00", "02:60-05:00", "02:00-02:00", "02:00 - 05:00"];
  for (const text of wrong)
    assert.match(outOfLimits(WINDOW.report.options.window ?? {}, text) ?? "", /FROM-TO/, text);
  const window = plannedWindow("22:00-04:00");
  // A step ends later than its seconds, and turning back begins earlier.
  assert.deepEqual(
    [clock(window, 0), clock(window, 7201), clock(window, -61), clock(window, -7200)],
    ["22:00", "00:01", "03:58", "02:00"],
  );
});

test("the report says when to turn back at the latest, and when a night does not fit", () => {
  const night = nightOf({ ...ASKED, machines: 300, takeOvers: 300, rows: 1 });
  const { ends = 0, back = 0 } = night.at(-1) ?? {};
  const of = (text: string): string => nightText(night, plannedWindow(text));
  const minutes = (ends + back) / 60;
  assert.match(nightText(night, null), /--window FROM-TO shows the latest times to roll back/);
  const turn = new RegExp(`Begin the rollback at ${clock({ from: 0, to: 780 }, -back)} at`);
  assert.match(of("01:00-13:00"), turn);
  assert.doesNotMatch(of("01:00-13:00"), /no time to roll them back/);
  const tight = `00:00-${clock({ from: 0, to: 0 }, ends + 60)}`;
  assert.ok(minutes > (ends + 60) / 60);
  assert.match(of(tight), /no time to roll them back/);
  assert.match(of("00:00-00:10"), /too short for a rollback/);
  assert.match(of("00:00-00:10"), /does not fit into the window 00:00-00:10: it ends at .* late/);
});
