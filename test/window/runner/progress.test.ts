import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../../src/model/journal.ts";
import type { RunFiles } from "../../../src/run/files/run-files.ts";
import { backFirst, currentStateOf } from "../../../src/window/runner/status.ts";
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
  return currentStateOf({
    ...{ snapshot: SNAPSHOT, journal: { entries }, handover: null },
    plan: PLAN,
    nova: { plan: { sha256: SHA, counts }, entries },
    ...more,
  });
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
  assert.deepEqual(backFirst(files), []);
  const handover = { staged: 3, released: 0, takeOvers: 3 };
  assert.deepEqual(backFirst({ ...files, handover }), []);
  const all: RunFiles = {
    ...{ ...files, handover: { ...handover, released: 1 }, boot: new Map([["/tftpboot", 1]]) },
    finish: { end: { at: AT, by: "me" }, guards: true },
  };
  assert.deepEqual(backFirst(all), [
    { command: "finish" },
    { command: "handover" },
    { command: "boot", tftpRoot: "/tftpboot" },
  ]);
});
