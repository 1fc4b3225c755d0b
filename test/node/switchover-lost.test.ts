import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/edge/disk/journal.ts";
import { openRun } from "../../src/edge/disk/run-folder.ts";
import type { Entry } from "../../src/model/journal.ts";
import { loadIdentical } from "../../src/stages/documents.ts";
import { perform } from "../../src/stages/switchover-perform.ts";
import { decide } from "../../src/stages/switchover-plan.ts";
import { switchedIn } from "../../src/stages/switchover-run.ts";
import { during } from "../engine/on-journal.ts";
import { type Ran, run, runs } from "../hostile/cli.ts";
import { refuses } from "./in-memory.ts";
import { LOOKS, LOSSES, loses, MANAGES, MARKS, OTHER, restored, writesTo } from "./switch-lost.ts";
import { SOURCE, SPARE, type Switchable, switchedDump } from "./switch-memory.ts";
import { back, faults, type Scene, scene } from "./switch-scene.ts";
import { addSpare, commandScene } from "./switch-served.ts";

/** What it said before its error is how far it came. */
function assertEnded({ status, err }: Ran, wanted: number, code: string, why: RegExp): void {
  assert.equal(status, wanted, err);
  assert.match(err, new RegExp(`^ERROR ${code} `, "m"));
  assert.match(err, why);
}

async function entriesOf(path: string): Promise<readonly Entry[]> {
  return [...(await readJournal(await openRun(path, { create: false }))).entries];
}

test("a spare that somebody else has before the source is told to power off is given back, and the next one taken", async (t) => {
  for (const loss of LOSSES) {
    const { cloud, how, next, path, own } = await commandScene(t);
    loses(cloud, loss);
    const ran = await run(["node", "switchover", "n-1", ...own], how);
    assert.equal(ran.status, 0, `${loss.what}: ${ran.err}`);
    assert.match(ran.err, new RegExp(`${loss.why.source}.*: the next spare is tried`), loss.what);
    assert.match(ran.out, new RegExp(`runs on ${next} \\(n-1\\)`), loss.what);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], loss.what);
    const lost = cloud.nodes.get(SPARE);
    assert.deepEqual([lost?.extra, lost?.name], [{ rack: 9, own: true }, "s-1"], loss.what);
    const power = cloud.calls.indexOf(`PUT /v1/nodes/${SOURCE}/states/power`);
    assert.ok(cloud.calls.lastIndexOf(MARKS) < power, `${loss.what}: given back first`);
    // The run is of the spare that it has by now.
    const entries = await entriesOf(path);
    assert.equal(switchedIn(entries)?.plan.destination, next, loss.what);
    const holds = entries.flatMap((entry) =>
      "part" in entry && entry.part === "switchover-hold" ? [entry.do] : [],
    );
    assert.equal(
      holds.join(" ").replace("start end return", "start return"),
      "start return returned start end",
    );
    assert.match((await runs(0, ["status", "--run", path])).out, new RegExp(next), loss.what);
  }
});

test("without another spare everything is as it was, and a check says why", async (t) => {
  for (const loss of LOSSES) {
    const { cloud, how, next, path, own } = await commandScene(t);
    cloud.nodes.delete(next);
    const before = switchedDump(cloud);
    loses(cloud, loss);
    const ran = await run(["node", "switchover", "n-1", ...own], how);
    assertEnded(ran, 4, "N2I-E387", /no suitable destination for n-1/);
    assert.match(ran.err, loss.why, loss.what);
    restored(cloud);
    assert.equal(switchedDump(cloud), before, loss.what);
    assert.deepEqual(cloud.told, [], loss.what);
    assert.equal(switchedIn(await entriesOf(path)), null, loss.what);
    assert.match((await runs(0, ["status", "--run", path])).out, /ROLLED_BACK/, loss.what);
  }
});

test("a spare that was named is not exchanged for another, and the source stays on", async (t) => {
  for (const loss of LOSSES) {
    const { cloud, how, next, own, before } = await commandScene(t);
    loses(cloud, loss);
    const ran = await run(["node", "switchover", "n-1", "s-1", ...own], how);
    assert.ok([1, 11].includes(ran.status), `${loss.what}: ${ran.status} ${ran.err}`);
    if (/ seconds/.test(loss.why.source)) assert.match(ran.err, /N2I-E380/, loss.what);
    // Whoever names a spare waits longer for it.
    assert.match(ran.err, new RegExp(loss.why.source.replace("30 s", "300 s")), loss.what);
    restored(cloud);
    assert.equal(switchedDump(cloud), before, loss.what);
    assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []], loss.what);
  }
});

test("a named spare of a run that is gone on with without its name is not exchanged either", async (t) => {
  const { cloud, how, next, own } = await commandScene(t);
  cloud.use((call) => (call === MANAGES ? { done: false, says: refuses(500, "broken") } : null));
  const ran = await run(["node", "switchover", "n-1", "s-1", ...own], how);
  assert.equal(ran.status, 5, ran.err);
  cloud.use(() => null);
  Object.assign(cloud.nodes.get(SPARE) ?? {}, { provision_state: "available" });
  const again = await run(["node", "switchover", "n-1", ...own], how);
  assertEnded(again, 11, "N2I-E381", /is available, expected manageable/);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []]);
});

test("once the source was told to power off no spare is exchanged, by whichever command", async (t) => {
  const ready = { provision_state: "manageable", power_state: "power off" };
  const { cloud, how, next, own, before } = await commandScene(t);
  Object.assign(cloud.nodes.get(SPARE) ?? {}, ready);
  cloud.use((call) => {
    if (call === `PUT /v1/nodes/${SOURCE}/states/power`)
      Object.assign(cloud.nodes.get(SPARE) ?? {}, { instance_uuid: OTHER });
    return null;
  });
  const ran = await run(["node", "switchover", "n-1", ...own], how);
  assertEnded(ran, 1, "N2I-E389", /instance_uuid of node \S+ was changed/);
  restored(cloud);
  assert.equal(switchedDump(cloud), before);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], ["n-1 soft", "n-1 on"]]);

  // A spare that had nothing to do is looked at again by the next command.
  const later = await commandScene(t);
  Object.assign(later.cloud.nodes.get(SPARE) ?? {}, ready);
  later.cloud.use((call) =>
    call === `PUT /v1/nodes/${SOURCE}/maintenance`
      ? { done: false, says: refuses(500, "broken") }
      : null,
  );
  const words = ["node", "switchover", "n-1", ...later.own];
  assert.equal((await run(words, later.how)).status, 5);
  later.cloud.use(() => null);
  Object.assign(later.cloud.nodes.get(SPARE) ?? {}, { provision_state: "available" });
  const again = await run(words, later.how);
  assertEnded(again, 11, "N2I-E381", /is available, expected manageable/);
  restored(later.cloud);
  assert.equal(switchedDump(later.cloud), later.before);
  assert.deepEqual(writesTo(later.cloud, later.next), []);
  assert.deepEqual(later.cloud.told, ["n-1 soft", "n-1 on"]);
});

test("after half a rollback that powered the source on again no spare is exchanged either", async (t) => {
  const { cloud, how, next, path, own } = await commandScene(t);
  const words = ["node", "switchover", "n-1", ...own];
  const broken = (call: string) => {
    cloud.use((made) => (made === call ? { done: false, says: refuses(500, "broken") } : null));
  };
  broken(`PUT /v1/nodes/${SOURCE}/maintenance`);
  assert.equal((await run(words, how)).status, 5);
  // The marks alone are left.
  broken(MARKS);
  const half = await run(["rollback", "--run", path, ...cloud.words, "--all", "--yes"], how);
  assert.equal(half.status, 5, half.err);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  cloud.use(() => null);
  Object.assign(cloud.nodes.get(SPARE) ?? {}, { provision_state: "available" });
  const again = await run(words, how);
  assertEnded(again, 11, "N2I-E381", /is available, expected manageable/);
  assert.match(again.err, /Run the same command once more: it begins anew/);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], ["n-1 soft", "n-1 on"]]);
  assert.equal(switchedIn(await entriesOf(path)), null);
  assert.match((await runs(0, words, how)).out, new RegExp(`runs on ${next} `));
});

/** What keeps a lost spare from being changed, and what ends that. */
const HELD = [
  [{ reservation: "h" }, /is locked by host h/],
  // Somebody provided it, and it is cleaned for an hour.
  [{ provision_state: "cleaning" }, /is on its way to another state: cleaning/],
] as const;

/** Somebody has the first spare from its first look after our mark on. */
function holds(cloud: Switchable, change: object): void {
  let isMarked = false;
  cloud.use((call) => {
    if (isMarked && call === LOOKS) Object.assign(cloud.nodes.get(SPARE) ?? {}, change);
    isMarked ||= call === MARKS;
    return null;
  });
}

test("a lost spare that cannot be changed for now keeps nobody from the next, and its mark goes later", async (t) => {
  for (const [change, why] of HELD) {
    const { cloud, how, next, path, own } = await commandScene(t);
    holds(cloud, change);
    const words = ["node", "switchover", "n-1", ...own];
    const ran = await run(words, how);
    assert.equal(ran.status, 0, ran.err);
    assert.match(ran.err, new RegExp(`${why.source}.*: the next spare is tried`));
    const told = new RegExp(`${SPARE} \\(s-1\\) has our mark still: .*${why.source}`);
    assert.match(ran.err, told);
    assert.match(ran.err, new RegExp(`node unset ${SPARE} --extra nova2ironic_switchover`));
    assert.match(ran.out, new RegExp(`runs on ${next} `));
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
    const status = await runs(0, ["status", "--run", path]);
    assert.match(status.out + status.err, /DONE[\s\S]*s-1\) has our mark still/);
    // Its lock ends, and the same command takes the mark off.
    cloud.use(() => null);
    Object.assign(cloud.nodes.get(SPARE) ?? {}, {
      reservation: null,
      provision_state: "available",
    });
    const again = await runs(0, words, how);
    assert.doesNotMatch(again.err, /our mark/);
    assert.deepEqual(cloud.nodes.get(SPARE)?.extra, { rack: 9, own: true });
    const then = await runs(0, ["status", "--run", path]);
    assert.doesNotMatch(then.out + then.err, /our mark/);
  }
});

test("a lost spare that this login may not change is told of, and the next one is taken", async (t) => {
  const { cloud, how, next, own } = await commandScene(t);
  let marks = 0;
  cloud.use((call) => {
    if (call === LOOKS && marks === 1)
      Object.assign(cloud.nodes.get(SPARE) ?? {}, { instance_uuid: OTHER });
    if (call === MARKS) marks += 1;
    return call === MARKS && marks > 1 ? { done: false, says: refuses(403, "not yours") } : null;
  });
  const ran = await run(["node", "switchover", "n-1", ...own], how);
  assert.equal(ran.status, 0, ran.err);
  assert.match(ran.err, /s-1\) has our mark still: .*not yours/);
  assert.match(ran.out, new RegExp(`runs on ${next} `));
});

test("where there is no next spare, the same command or a rollback takes that mark off once it can", async (t) => {
  for (const [change, why] of HELD) {
    const { cloud, how, next, path, own } = await commandScene(t);
    cloud.nodes.delete(next);
    const before = switchedDump(cloud);
    holds(cloud, change);
    const ran = await run(["node", "switchover", "n-1", ...own], how);
    assertEnded(ran, 4, "N2I-E387", why);
    assert.match(ran.err, /s-1\) has our mark still/);
    const back = ["rollback", "--run", path, ...cloud.words, "--all", "--yes"];
    // What is left is to be taken back.
    const status = await runs(0, ["status", "--run", path]);
    assert.match(status.out + status.err, /Next: nova2ironic rollback --run/);
    const left = await runs(2, back, how);
    assert.match(left.out + left.err, /s-1\) has our mark still/);
    cloud.use(() => null);
    restored(cloud);
    if ("reservation" in change) {
      // Free again it is a spare like any other.
      Object.assign(cloud.nodes.get(SPARE) ?? {}, { power_state: "power off" });
      const { out } = await runs(0, ["node", "switchover", "n-1", ...own], how);
      assert.match(out, new RegExp(`runs on ${SPARE} `));
      continue;
    }
    const shown = await runs(0, [...back.slice(0, -1), "--plan"], how);
    assert.match(shown.out, new RegExp(`restore.*mark.*${SPARE}`));
    await runs(0, back, how);
    assert.equal(switchedDump(cloud), before);
    assert.match((await runs(0, back, how)).out, /did not switch a machine over/);
  }
});

test("a lock that ends soon is waited for", async (t) => {
  const { cloud, how, own } = await commandScene(t);
  let [marks, looks] = [0, 0];
  cloud.use((call) => {
    if (marks > 0 && call === LOOKS) {
      looks += 1;
      Object.assign(cloud.nodes.get(SPARE) ?? {}, { reservation: looks < 6 ? "h" : null });
    }
    if (call === MARKS) marks += 1;
    return null;
  });
  const { out } = await runs(0, ["node", "switchover", "n-1", ...own], how);
  assert.match(out, new RegExp(`runs on ${SPARE} `));
});

async function performed(at: Scene, lines?: number): Promise<void> {
  const doc = await loadIdentical(undefined);
  const asked = { source: "n-1", keepNames: false, keepSource: false, leaveNova: false };
  const again = async (taken: ReadonlySet<string>) =>
    (await decide(at.service, doc, { ...asked, taken }, () => Promise.resolve(), 0)).plan;
  const words = { run: at.run.path, proofInterval: 0, sourceConfirmedOff: false };
  const sink = { say: () => undefined, note: () => undefined, result: () => undefined };
  let now = 0;
  const clock = { now: () => (now += 1000), sleep: () => Promise.resolve() };
  await during(
    at.run,
    async (given) => {
      const { signal } = new AbortController();
      const session = { ...given, clock, signal, begin: () => Promise.resolve() };
      const place = { service: at.service, nova: null };
      const first = switchedIn(given.journal.entries())?.plan ?? (await again(new Set()));
      await perform(words, first, { run: at.run, place, session, sink, again });
    },
    lines,
  );
}

test("a death at any line until the next spare is begun is gone on from, or rolled back", async (t) => {
  const begun = async () => {
    const at = await scene(t);
    const next = addSpare(at.cloud, 1);
    const before = switchedDump(at.cloud);
    loses(at.cloud, LOSSES.find(({ what }) => what === "made available") ?? assert.fail());
    return { at, next, before };
  };
  const whole = await begun();
  await performed(whole.at);
  assert.deepEqual(await faults(whole.at), []);
  const { entries } = await readJournal(whole.at.run);
  const last = [...entries].findIndex(
    (one) => one.do === "start" && one.part === "switchover-power",
  );
  assert.ok(last > 7, String(last));
  for (let died = 0; died < last; died += 1) {
    const on = await begun();
    await performed(on.at, died);
    await performed(on.at);
    assert.deepEqual(await faults(on.at), [], `died after ${died} lines`);
    const { plan } = switchedIn((await readJournal(on.at.run)).entries) ?? {};
    assert.equal(plan?.destination, on.next, `died after ${died} lines`);
    assert.deepEqual(on.at.cloud.told, ["n-1 soft", "n-1 on"], `died after ${died} lines`);
    const undone = await begun();
    await performed(undone.at, died);
    assert.deepEqual(await back(undone.at), [], `died after ${died} lines`);
    restored(undone.at.cloud);
    assert.equal(switchedDump(undone.at.cloud), undone.before, `died after ${died} lines`);
  }
});
