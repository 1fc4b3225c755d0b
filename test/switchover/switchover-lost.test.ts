import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/run/files/journal.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { switchedIn } from "../../src/switchover/switchover-run.ts";
import { type Ran, run, runs } from "../hostile/cli.ts";
import { refuses, uuidOf } from "../manage/in-memory.ts";
import type { Fault } from "../support/faulty-service.ts";
import { LOOKS, LOSSES, loses, MANAGES, MARKS, OTHER, restored, writesTo } from "./lost.ts";
import { SOURCE, SPARE, type Switchable, switchedDump } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

const BROKE: Fault = { done: false, says: refuses(500, "broken") };
const MAINTENANCE = `PUT /v1/nodes/${SOURCE}/maintenance`;

/** What it said before its error is how far it came. */
function assertEnded({ status, err }: Ran, wanted: number, code: string, why: RegExp): void {
  assert.equal(status, wanted, err);
  assert.match(err, new RegExp(`^ERROR ${code} `, "m"));
  assert.match(err, why);
}

/** The switchover that a run's journal has under way. */
async function underWay(path: string) {
  return switchedIn((await readJournal(await openRun(path, { create: false }))).entries);
}

test("a spare that somebody else takes before the source is powered off is rolled back, and the same command chooses another", async (t) => {
  // One loss is tried with a named spare too: each with both would cost twice as much.
  for (const loss of LOSSES)
    for (const named of loss.what === "given an instance" ? [[], ["s-1"]] : [[]]) {
      const { cloud, how, next, path, own, before } = await commandScene(t);
      loses(cloud, loss);
      const ran = await run(["node", "switchover", "n-1", ...named, ...own], how);
      const what = `${loss.what}: ${ran.status} ${ran.err}`;
      assert.ok([1, 11].includes(ran.status), what);
      assert.match(ran.err, loss.why);
      if (/ seconds/.test(loss.why.source)) assert.match(ran.err, /N2I-E380/, what);
      assert.equal(await underWay(path), null, what);
      restored(cloud);
      assert.equal(switchedDump(cloud), before, what);
      assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []], what);
      if (named.length > 0) continue;
      cloud.setNode(SPARE, loss.change);
      const { out } = await runs(0, ["node", "switchover", "n-1", ...own], how);
      assert.match(out, new RegExp(`runs on ${next} \\(n-1\\)`), what);
      assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], what);
      assert.match((await runs(0, ["status", "--run", path])).out, new RegExp(next), what);
    }
});

test("without another spare the same command says so, and everything stays as it was", async (t) => {
  const { cloud, how, next, path, own } = await commandScene(t);
  cloud.nodes.delete(next);
  const before = switchedDump(cloud);
  loses(cloud, LOSSES.find(({ what }) => what === "given an instance") ?? assert.fail());
  const words = ["node", "switchover", "n-1", ...own];
  assertEnded(await run(words, how), 11, "N2I-E381", /Run the command again to choose/);
  assertEnded(await run(words, how), 4, "N2I-E387", /no suitable destination for n-1/);
  restored(cloud);
  assert.equal(switchedDump(cloud), before);
  assert.match((await runs(0, ["status", "--run", path])).out, /ROLLED_BACK/);
});

test("a spare that is lost once the source is off is rolled back, by whichever command", async (t) => {
  const ready = { provision_state: "manageable", power_state: "power off" };
  const { cloud, how, next, own, before } = await commandScene(t);
  cloud.setNode(SPARE, ready);
  const taken = () => cloud.setNode(SPARE, { instance_uuid: OTHER });
  cloud.once(`PUT /v1/nodes/${SOURCE}/states/power`, taken);
  const ran = await run(["node", "switchover", "n-1", ...own], how);
  assertEnded(ran, 1, "N2I-E389", /instance_uuid of node \S+ was changed/);
  restored(cloud);
  assert.equal(switchedDump(cloud), before);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], ["n-1 soft", "n-1 on"]]);

  // A spare that had nothing to do is looked at again by the next command.
  const later = await commandScene(t);
  later.cloud.setNode(SPARE, ready);
  later.cloud.fail(MAINTENANCE, BROKE);
  const words = ["node", "switchover", "n-1", ...later.own];
  assert.equal((await run(words, later.how)).status, 5);
  later.cloud.use(() => null);
  later.cloud.setNode(SPARE, { provision_state: "available" });
  const again = await run(words, later.how);
  assertEnded(again, 11, "N2I-E381", /is available, expected manageable/);
  restored(later.cloud);
  assert.equal(switchedDump(later.cloud), later.before);
  assert.deepEqual(writesTo(later.cloud, later.next), []);
  assert.deepEqual(later.cloud.told, ["n-1 soft", "n-1 on"]);
});

test("a spare that is lost after half a rollback is rolled back, and the same command chooses another", async (t) => {
  const { cloud, how, next, path, own } = await commandScene(t);
  const words = ["node", "switchover", "n-1", ...own];
  cloud.fail(MAINTENANCE, BROKE);
  assert.equal((await run(words, how)).status, 5);
  // The marks alone are left.
  cloud.fail(MARKS, BROKE);
  await runs(5, ["rollback", "--run", path, ...cloud.words, "--all", "--yes"], how);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  cloud.use(() => null);
  cloud.setNode(SPARE, { provision_state: "available" });
  const again = await run(words, how);
  assertEnded(again, 11, "N2I-E381", /is available, expected manageable/);
  assert.match(again.err, /Run the command again to choose a different spare/);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], ["n-1 soft", "n-1 on"]]);
  assert.equal(await underWay(path), null);
  assert.match((await runs(0, words, how)).out, new RegExp(`runs on ${next} `));
});

/** What keeps a lost spare from being changed, what is said of it, and what removes the mark later. */
const HELD = [
  [{ reservation: "h" }, /is locked by host h/, "rollback"],
  // Somebody provided it, and it is cleaned for an hour.
  [{ provision_state: "cleaning" }, /is in a transitional state: cleaning/, "the same command"],
] as const;

/** Somebody has the first spare from its first look after our mark on. */
function holds(cloud: Switchable, change: object): void {
  let isMarked = false;
  cloud.use((call) => {
    if (isMarked && call === LOOKS) cloud.setNode(SPARE, change);
    isMarked ||= call === MARKS;
  });
}

test("the mark on a lost spare that cannot be changed stays, and the same command or a rollback removes it later", async (t) => {
  for (const [change, why, later] of HELD) {
    const { cloud, how, next, path, own, before } = await commandScene(t);
    holds(cloud, change);
    const words = ["node", "switchover", "n-1", ...own];
    const ran = await run(words, how);
    assertEnded(ran, 5, "N2I-E301", why);
    const resolve = /not rolled back: .*Resolve the items listed, then: nova2ironic rollback /s;
    assert.match(ran.err, resolve);
    assert.deepEqual(cloud.nodes.get(SOURCE)?.extra, { "a/b~": 1, rack: 7 });
    assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []]);
    const back = ["rollback", "--run", path, ...cloud.words, "--all", "--yes"];
    const left = await runs(2, back, how);
    assert.match(left.out, new RegExp(`Rollback: 2 left[^]*PATCH of node ${SPARE} is refused`));
    assert.match(left.out, new RegExp(`the mark is still on ${SPARE}: .*node unset UUID --extra`));
    cloud.use(() => null);
    restored(cloud);
    if (later === "rollback") {
      await runs(0, back, how);
      assert.equal(switchedDump(cloud), before);
      continue;
    }
    cloud.setNode(SPARE, { power_state: "power off" });
    const { out } = await runs(0, words, how);
    assert.match(out, new RegExp(`runs on ${SPARE} `));
  }
});

test("a lock that ends soon is waited for", async (t) => {
  const { cloud, how, own } = await commandScene(t);
  let [marks, looks] = [0, 0];
  cloud.use((call) => {
    if (marks > 0 && call === LOOKS) {
      looks += 1;
      cloud.setNode(SPARE, { reservation: looks < 6 ? "h" : null });
    }
    if (call === MARKS) marks += 1;
  });
  const { out } = await runs(0, ["node", "switchover", "n-1", ...own], how);
  assert.match(out, new RegExp(`runs on ${SPARE} `));
});

/** The spare is deleted at the first call of these, with what hangs on it. */
function deleted(cloud: Switchable, at: (call: string) => boolean): void {
  cloud.once(at, () => {
    cloud.nodes.delete(SPARE);
    for (const kept of [cloud.ports, cloud.targets, cloud.connectors])
      for (const [uuid, one] of kept) if (one.node_uuid === SPARE) kept.delete(uuid);
  });
}

/** Moments at which a spare may go before the source is told to power off. */
const EARLY: Readonly<Record<string, (call: string, cloud: Switchable) => boolean>> = {
  "before it is marked": (call) => call === MARKS,
  "as it is to be managed": (call) => call === MANAGES,
  "once it is managed": (call, { calls }) => call === LOOKS && calls.includes(MANAGES),
};

test("a spare that somebody deletes before the source is powered off is rolled back, and the same command takes another", async (t) => {
  // The first moment is tried with a named spare too.
  for (const [what, moment] of Object.entries(EARLY))
    for (const named of what.startsWith("before") ? [[], ["s-1"]] : [[]]) {
      const { cloud, how, next, path, own } = await commandScene(t);
      const before = structuredClone(cloud.nodes.get(SOURCE));
      deleted(cloud, (call) => moment(call, cloud));
      const ran = await runs(4, ["node", "switchover", "n-1", ...named, ...own], how);
      assert.match(ran.err, /N2I-E384 node \S+ \(s-1\) was deleted/, what);
      assert.deepEqual([cloud.nodes.get(SOURCE), cloud.told], [before, []], what);
      assert.match((await runs(0, ["status", "--run", path])).out, /ROLLED_BACK/, what);
      const again = named.map(() => "t-1");
      const { out } = await runs(0, ["node", "switchover", "n-1", ...again, ...own], how);
      assert.match(out, new RegExp(`runs on ${next} `), what);
    }
});

test("once the source is off, a spare that is deleted gives everything back, or says which volumes went with it", async (t) => {
  for (const options of [[], ["s-1"]]) {
    const { cloud, how, next, own } = await commandScene(t);
    const isOn = options.length > 0;
    // One that was on is not to be powered on again.
    const was = { provision_state: "manageable", power_state: "power on" };
    if (isOn) cloud.setNode(SPARE, was);
    cloud.setMachine(SPARE, { on: isOn });
    deleted(cloud, (call) => call === MAINTENANCE);
    const ran = await runs(1, ["node", "switchover", "n-1", ...options, ...own], how);
    assert.match(ran.err, /N2I-E389 node \S+ \(s-1\) was deleted/);
    const { power_state, maintenance, extra, instance_uuid } = cloud.nodes.get(SOURCE) ?? {};
    assert.deepEqual([power_state, maintenance, instance_uuid], ["power on", false, uuidOf(9, 1)]);
    assert.deepEqual(extra, { "a/b~": 1, rack: 7 });
    assert.deepEqual(writesTo(cloud, next), []);
    assert.deepEqual(cloud.told, [...(isOn ? ["s-1 off"] : []), "n-1 soft", "n-1 on"]);
  }

  const { cloud, how, own } = await commandScene(t);
  deleted(cloud, (call) => call === LOOKS && cloud.nodes.get(SPARE)?.name === "n-1");
  const ran = await runs(5, ["node", "switchover", "n-1", "s-1", ...own], how);
  const lost = `N2I-E301 .*was deleted; not rolled back: volume target ${uuidOf(5, 1)} was deleted`;
  assert.match(ran.err, new RegExp(lost));
  assert.match(ran.err, /Resolve the items listed, then: nova2ironic rollback .*--all/);
  // Nothing of it is to be given back, and the source stays off.
  assert.doesNotMatch(ran.err, new RegExp(`node ${SPARE} was deleted`));
  assert.deepEqual([cloud.nodes.get(SOURCE)?.maintenance, cloud.told], [true, ["n-1 soft"]]);
});
