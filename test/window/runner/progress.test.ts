import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOW_PACE } from "../../../src/model/handover.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { RunFiles } from "../../../src/run/files/run-files.ts";
import type { Sink } from "../../../src/run/sink.ts";
import type { Measured } from "../../../src/window/report/rules/window.ts";
import { expected } from "../../../src/window/runner/next-step.ts";
import { statusOf } from "../../../src/window/runner/status.ts";
import { until } from "../../../src/window/runner/wait-for-operator.ts";
import { COUNTS, PLAN, SHA, SNAPSHOT } from "../../support/run-files.ts";

const AT = "2026-11-21T00:00:00Z";

function begin(part: string, to: number): Entry {
  return { do: "begin", part, plan: SHA, from: 0, to, at: AT, by: "root@host" };
}

function done(part: string, to: number): Entry {
  return { do: "done", part, plan: SHA, from: 0, to, at: AT, created: to, found: [] };
}

const MACHINES = COUNTS.nodes + COUNTS.ports;
const FLAVORS = [begin("nova-flavors", 1), done("nova-flavors", 1)];
const IRONIC = [begin("ironic", MACHINES), done("ironic", MACHINES)];
const HOSTS = [begin("nova-hosts", 3), done("nova-hosts", 3)];

function standing(entries: readonly Entry[], more: Partial<RunFiles> = {}) {
  const counts = { hosts: 3, flavors: 1, findings: 0, stopped: [] };
  return statusOf({
    ...{ snapshot: SNAPSHOT, journal: { entries }, handover: null },
    plan: PLAN,
    nova: { plan: { sha256: SHA, counts }, entries },
    ...more,
  }).status;
}

test("a load is whole once Nova's rows were gone through too", () => {
  const load = (...entries: readonly Entry[]) => standing(entries).load;
  assert.equal(load(), "none");
  assert.equal(load(...FLAVORS), "part");
  assert.equal(load(...FLAVORS, begin("ironic", MACHINES)), "part");
  assert.equal(load(...FLAVORS, ...IRONIC), "part");
  assert.equal(load(...FLAVORS, ...IRONIC, begin("nova-hosts", 3)), "part");
  assert.equal(load(...FLAVORS, ...IRONIC, ...HOSTS), "whole");
  const verified = { rows: true, takeover: false, final: false };
  assert.equal(standing([...FLAVORS, ...IRONIC], { verified }).load, "whole");
});

test("what was rolled back is loaded no more, but for what is left of it", () => {
  const all = [...FLAVORS, ...IRONIC, ...HOSTS];
  const back = (part: string, to: number): readonly Entry[] => [
    { ...{ do: "undo", part, plan: SHA, from: 0, to, at: AT, by: "me", nodes: "all" } },
    {
      ...{ do: "undone", part, plan: SHA, from: 0, to, at: AT, removed: to, gone: 0 },
      ...{ settled: [], conflicts: [] },
    },
  ];
  const entries = [...all, ...back("ironic", MACHINES), ...back("nova-hosts", 3)];
  assert.equal(standing(entries).load, "part");
  assert.equal(standing([...entries, ...back("nova-flavors", 1)]).load, "none");
  // A batch that was begun and taken back without its end.
  const cut = [begin("ironic", MACHINES), ...back("ironic", MACHINES)];
  assert.equal(standing(cut).load, "none");
});

test("what verify noted is told apart from what nobody looked at", () => {
  const of = (rows: boolean, takeover: boolean, final: boolean) => {
    const { verified, ended } = standing(IRONIC, { verified: { rows, takeover, final } });
    return [verified, ended];
  };
  assert.equal(standing(IRONIC).verified, "no");
  assert.deepEqual(of(false, false, false), ["failed", false]);
  assert.deepEqual(of(false, true, false), ["no", false]);
  assert.deepEqual(of(true, false, false), ["yes", false]);
  assert.deepEqual(of(true, true, true), ["yes", true]);
  const finish = { end: { at: AT, by: "me" }, guards: true };
  assert.equal(standing(IRONIC, { finish }).ended, true);
  assert.equal(standing(IRONIC, { handover: { staged: 3, released: 1, takeOvers: 2 } }).staged, 2);
});

test("what stands in the way of a rollback is taken back first", () => {
  const plan = { missing: "" };
  const files = { snapshot: SNAPSHOT, plan, journal: plan, handover: null };
  assert.deepEqual(statusOf(files).back, []);
  const handover = { staged: 3, released: 0, takeOvers: 3 };
  assert.deepEqual(statusOf({ ...files, handover }).back, []);
  const all: RunFiles = {
    ...{ ...files, handover: { ...handover, released: 1 }, boot: new Map([["/tftpboot", 1]]) },
    finish: { end: { at: AT, by: "me" }, guards: true },
  };
  assert.deepEqual(statusOf(all).back, [
    { command: "finish" },
    { command: "handover" },
    { command: "boot", tftpRoot: "/tftpboot" },
  ]);
});

const NOTHING: Measured = { ran: [], loaded: null, handed: null };
const SPAN = { part: "ironic", plan: SHA, from: 0, to: 1 } as const;

function files(entries: readonly Entry[], handover: RunFiles["handover"] = null): RunFiles {
  return { snapshot: SNAPSHOT, plan: PLAN, journal: { entries }, handover };
}

test("how long a load takes is said for what is left of it, and not before a rate is known", () => {
  assert.equal(expected(files([]), "apply", NOTHING).seconds, null);
  const begin: Entry = { do: "begin", ...SPAN, at: AT, by: "me" };
  const done: Entry = { do: "done", ...SPAN, at: AT, created: 2, found: [] };
  // Two of the plan's four rows are left, at two a second.
  const rate = { ...NOTHING, loaded: { count: 2, seconds: 1 } };
  assert.equal(expected(files([begin, done]), "apply", rate).seconds, 1);
});

test("until there was a load its rate is that of the rehearsal, which is said", () => {
  const rehearsed = { ...NOTHING, rehearsed: { count: 8, seconds: 4, nova: { left: 0 } } };
  const { seconds, basis, source } = expected(files([]), "apply", rehearsed);
  assert.deepEqual([seconds, basis], [2, "measured"]);
  assert.match(source, /^4 rows at 2.0 a second, as rehearsed \(rehearsal\.json\)$/);
  const loaded = { ...rehearsed, loaded: { count: 4, seconds: 4 } };
  assert.equal(expected(files([]), "apply", loaded).seconds, 4);
});

test("the estimate of apply includes the watch of nova-compute", () => {
  const rehearsed = { ...NOTHING, rehearsed: { count: 8, seconds: 4, nova: { left: 0 } } };
  const nova = { plan: { sha256: "", counts: { stopped: ["H1"] } }, entries: [] };
  const watched = { ...files([]), nova } as unknown as Parameters<typeof expected>[0]; // no more of it is read
  const { seconds, source } = expected(watched, "apply", rehearsed);
  assert.equal(seconds, 22);
  assert.match(source, /, including 20 s for watching nova-compute$/);
  assert.equal(expected(watched, "apply", rehearsed, 5).seconds, 7);
});

test("how long a hand-over takes is said for machines that are staged still", () => {
  const begun = files([], { staged: 20, released: 9, takeOvers: 11 });
  const estimate = expected(begun, "handover", NOTHING);
  assert.deepEqual([estimate.seconds, estimate.basis], [360, "estimate"]);
  const rate = { pace: { ...WINDOW_PACE, interval: 9 }, perMinute: null };
  const tuned = expected(begun, "handover", NOTHING, 0, rate);
  assert.match(tuned.source, /^estimate: 40 machines every 9 s, by the patch of config /);
  const pace = expected(begun, "handover", { ...NOTHING, handed: { count: 9, seconds: 90 } });
  assert.deepEqual([pace.seconds, pace.basis], [110, "measured"]);
});

test("a look of verify takes as long as that look did, and no other", () => {
  const ran = [["verify", 7] as const, ["verify --final", 3] as const].map(
    ([command, seconds]) => ({ ...{ command, seconds, at: AT, by: "me", status: 0, result: "" } }),
  );
  assert.equal(expected(files([]), "final", { ...NOTHING, ran }).seconds, 3);
  assert.equal(expected(files([]), "verify", { ...NOTHING, ran }).seconds, 7);
  assert.equal(expected(files([]), "takeover", { ...NOTHING, ran }).seconds, null);
});

/** What is said while these are missing, look by look. */
async function said(missing: readonly string[]): Promise<readonly string[]> {
  const told: string[] = [];
  // Nothing else of it is used.
  const sink = { report: (text: string) => told.push(text) } as unknown as Sink;
  const looks = [...missing];
  await until(() => Promise.resolve(looks.shift() ?? null), { every: 0.001, sink });
  return told;
}

test("what is waited for is said once while it only comes closer, and anew when it is another thing", async () => {
  const waiting = [3, 2, 1].map((count) => `${count} machines wait.`);
  const told = await said([...waiting, "start it."]);
  const short = told.map((text) => text.replace(/ It checks.*/, ""));
  assert.deepEqual(short, ["Waiting: 3 machines wait.", "Waiting (under 1 s): start it."]);
  assert.match(
    told[0] ?? "",
    /It checks every 0.001 s. To stop, press Ctrl-C. The same command resumes/,
  );
});
