import assert from "node:assert/strict";
import { join } from "node:path";
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
import { refuses, uuidOf } from "./in-memory.ts";
import { SOURCE, SPARE, type Switchable, switchedDump } from "./switch-memory.ts";
import { back, faults, type Scene, scene } from "./switch-scene.ts";
import { addSource, addSpare, commandScene, servedSwitchover } from "./switch-served.ts";

const OTHER = uuidOf(9, 77);
const MARKS = `PATCH /v1/nodes/${SPARE}`;
const LOOKS = `GET /v1/nodes/${SPARE}`;
const MANAGES = `PUT /v1/nodes/${SPARE}/states/provision`;

interface Loss {
  readonly what: string;
  /** Whether it happens at this call, by how often the spare's extra was written to before. */
  readonly when: (call: string, marks: number, cloud: Switchable) => boolean;
  readonly change: { readonly [field: string]: string };
  readonly why: RegExp;
}

const LOSSES: readonly Loss[] = [
  {
    ...{ what: "locked before it is marked", when: (call) => call === MARKS },
    ...{ change: { reservation: "h" }, why: /PATCH of node \S+ is refused: .*locked by host/ },
  },
  {
    ...{ what: "locked once it is marked", when: (call, marks) => call === LOOKS && marks === 1 },
    ...{ change: { reservation: "h" }, why: /is locked by host h, for 30 seconds/ },
  },
  {
    what: "locked once it is managed",
    when: (call, marks, { nodes }) =>
      call === LOOKS && marks === 1 && nodes.get(SPARE)?.provision_state === "manageable",
    ...{ change: { reservation: "h" }, why: /is locked by host h, for 30 seconds/ },
  },
  {
    what: "asked for its state to no end",
    when: (call, marks, { nodes }) =>
      call === LOOKS && marks === 1 && nodes.get(SPARE)?.provision_state === "manageable",
    change: { reservation: "h", provision_state: "verifying" },
    why: /is locked by host h, for 300 seconds/,
  },
  {
    ...{ what: "locked as it is to be managed", when: (call) => call === MANAGES },
    ...{ change: { reservation: "h" }, why: /manage of node \S+ is refused: .*locked by host/ },
  },
  {
    ...{ what: "given an instance", when: (call, marks) => call === LOOKS && marks === 1 },
    ...{ change: { instance_uuid: OTHER }, why: /has instance 99999999-/ },
  },
  {
    what: "given an instance once it is managed",
    when: (call, marks, { nodes }) =>
      call === LOOKS && marks === 1 && nodes.get(SPARE)?.provision_state === "manageable",
    ...{ change: { instance_uuid: OTHER }, why: /has instance 99999999-/ },
  },
  {
    ...{ what: "made available", when: (call, marks) => call === LOOKS && marks === 1 },
    ...{ change: { provision_state: "available" }, why: /is available, expected manageable/ },
  },
];

/** Lets somebody else have the first spare; a lock ends once the mark is being given back. */
function loses(cloud: Switchable, { when, change }: Loss): void {
  const spare = cloud.nodes.get(SPARE) ?? {};
  let [marks, isLost] = [0, false];
  cloud.use((call) => {
    if (!isLost && when(call, marks, cloud)) {
      isLost = true;
      Object.assign(spare, change);
    }
    if (call === MARKS && marks > 0 && isLost) spare.reservation = null;
    if (call === MARKS && spare.reservation === null) marks += 1;
    return null;
  });
}

/** The spare as it was before somebody took it: an enrolled one stays managed. */
function restored(cloud: Switchable): void {
  Object.assign(cloud.nodes.get(SPARE) ?? {}, {
    ...{ reservation: null, instance_uuid: null, provision_state: "manageable" },
  });
}

const writesTo = ({ calls }: Switchable, node: string) =>
  calls.filter((call) => !call.startsWith("GET") && call.includes(node));

/** What it said before its error is how far it came. */
function assertEnded({ status, err }: Ran, wanted: number, code: string, why: RegExp): void {
  assert.equal(status, wanted, err);
  assert.match(err, new RegExp(`^ERROR ${code} `, "m"));
  assert.match(err, why);
}

async function entriesOf(path: string): Promise<readonly Entry[]> {
  return (await readJournal(await openRun(path, { create: false }))).entries;
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

test("what cannot be given back of a lost spare is told, and no other is begun", async (t) => {
  const { cloud, how, next, path, own, before } = await commandScene(t);
  let isMarked = false;
  cloud.use((call) => {
    if (isMarked && call === LOOKS)
      Object.assign(cloud.nodes.get(SPARE) ?? {}, { reservation: "h" });
    isMarked ||= call === MARKS;
    return null;
  });
  const ran = await run(["node", "switchover", "n-1", ...own], how);
  assertEnded(ran, 5, "N2I-E301", /not taken back: PATCH of node \S+ is refused/);
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []]);
  assert.equal(switchedIn(await entriesOf(path))?.plan.destination, SPARE);
  cloud.use(() => null);
  restored(cloud);
  await runs(0, ["rollback", "--run", path, ...cloud.words, "--all", "--yes"], how);
  assert.equal(switchedDump(cloud), before);
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
  const last = entries.findIndex((one) => one.do === "start" && one.part === "switchover-power");
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

const SERVED = new Set(["locked before it is marked", "given an instance once it is managed"]);
const GONE = LOSSES.find(({ what }) => what === "given an instance") ?? assert.fail();

test("what was accepted without a target takes the next spare as well, and GET says which", async (t) => {
  // What each of them comes to is the command's test.
  for (const loss of LOSSES.filter(({ what }) => SERVED.has(what))) {
    const { cloud, put, until, get, state, said } = await servedSwitchover(t);
    const [next, other] = [addSpare(cloud, 1), addSource(cloud, 1)];
    loses(cloud, loss);
    assert.equal((await put("n-1", {})).status, 202);
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.deepEqual([shown.state, shown.target], ["DONE", next], `${loss.what}: ${said.join()}`);
    assert.match(said.join("\n"), loss.why, loss.what);
    assert.match((await get(next)).text, new RegExp(String(shown.id)), loss.what);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], loss.what);
    const { out } = await runs(0, ["status", "--run", join(state, String(shown.id))]);
    assert.match(out, new RegExp(next), loss.what);
    // Nobody of this service has the lost one.
    restored(cloud);
    cloud.use(() => null);
    assert.equal((await put(other, { target_node: "s-1" })).status, 202, loss.what);
    await until(other, "DONE");
  }
});

test("what was accepted with a target keeps to it, and what finds no other spare is rolled back", async (t) => {
  const named = await servedSwitchover(t);
  const next = addSpare(named.cloud, 1);
  const before = switchedDump(named.cloud);
  loses(named.cloud, GONE);
  assert.equal((await named.put("n-1", { target_node: "s-1" })).status, 202);
  const back = await named.until(SOURCE, "ROLLED_BACK", "DONE");
  assert.match(String(back.error), /N2I-E381 .*has instance/);
  assert.deepEqual([back.target, writesTo(named.cloud, next), named.cloud.told], [SPARE, [], []]);
  restored(named.cloud);
  assert.equal(switchedDump(named.cloud), before);

  const alone = await servedSwitchover(t);
  loses(alone.cloud, GONE);
  assert.equal((await alone.put("n-1", {})).status, 202);
  const none = await alone.until(SOURCE, "ROLLED_BACK", "DONE");
  assert.match(String(none.error), /N2I-E387 no suitable destination/);
  restored(alone.cloud);
  assert.deepEqual([switchedDump(alone.cloud), alone.cloud.told], [alone.before, []]);
});

test("of two that lose their spares at once one has the last spare, and the other is rolled back", async (t) => {
  const { cloud, put, until, said } = await servedSwitchover(t);
  const [other, second, last] = [addSource(cloud, 1), addSpare(cloud, 1), addSpare(cloud, 2)];
  Object.assign(cloud.nodes.get(last) ?? {}, { maintenance: true });
  const marked = new Set<string>();
  cloud.use((call) => {
    for (const spare of [SPARE, second]) {
      if (call === `PATCH /v1/nodes/${spare}`) marked.add(spare);
      if (call !== `GET /v1/nodes/${spare}` || !marked.has(spare)) continue;
      const now =
        marked.size < 2 ? { reservation: "c" } : { reservation: null, instance_uuid: OTHER };
      Object.assign(cloud.nodes.get(spare) ?? {}, now);
    }
    if (marked.size === 2) Object.assign(cloud.nodes.get(last) ?? {}, { maintenance: false });
    return null;
  });
  assert.equal((await put(SOURCE, {})).status, 202);
  assert.equal((await put(other, {})).status, 202);
  const ends = [];
  for (const one of [SOURCE, other]) ends.push(await until(one, "DONE", "ROLLED_BACK"));
  assert.deepEqual(ends.map((one) => one.state).toSorted(), ["DONE", "ROLLED_BACK"]);
  assert.equal(ends.find((one) => one.state === "DONE")?.target, last);
  // It is kept to one before either marks it.
  assert.doesNotMatch(said.join("\n"), /is in switchover|was changed by somebody/);
});

test("a service that ends between two spares goes on with the next one once it is started again", async (t) => {
  const { cloud, put, until, end, again } = await servedSwitchover(t);
  const next = addSpare(cloud, 1);
  const spare = cloud.nodes.get(SPARE) ?? {};
  let [marks, ended]: [number, Promise<void> | null] = [0, null];
  cloud.use((call) => {
    if (call === MARKS) marks += 1;
    if (marks === 1 && call === LOOKS) spare.instance_uuid = OTHER;
    // Its mark is off again: the next is being looked for.
    if (marks === 2 && call.includes("provision_state=manageable")) ended ??= end();
    return null;
  });
  assert.equal((await put("n-1", {})).status, 202);
  for (let tries = 0; ended === null && tries < 500; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.notEqual(ended, null);
  await ended;
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []]);
  cloud.use(() => null);
  await again();
  const shown = await until(SOURCE, "DONE", "ROLLED_BACK");
  assert.deepEqual([shown.state, shown.target], ["DONE", next]);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
});
