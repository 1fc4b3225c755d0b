import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type JsonObject, objectOf } from "../../src/lib/json.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { SWITCH_MARK } from "../../src/switchover/rules/switching.ts";
import { isPastReturn, switchedIn, switchState } from "../../src/switchover/switchover-run.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { isWrite } from "../support/faulty-service.ts";
import { back, CLAIMED, faults, forward, marksStay, PLAN, type Scene, scene } from "./scene.ts";
import { addSpare, SOURCE, SPARE, type Switchable, switchedDump } from "./switch-memory.ts";

const THEIRS = uuidOf(7, 9);
const SIDES = [SOURCE, SPARE] as const;

const nodeOf = ({ cloud }: Scene, uuid: string) => cloud.nodes.get(uuid) ?? {};
const markOn = (at: Scene, uuid: string) => objectOf(nodeOf(at, uuid).extra)[SWITCH_MARK];

/** Another switchover marks it, or gives it up. */
function marks(at: Scene, uuid: string, mark: string | null): void {
  const { [SWITCH_MARK]: _, ...extra } = nodeOf(at, uuid).extra as JsonObject;
  const marked = { ...extra, ...(mark !== null && { [SWITCH_MARK]: mark }) };
  at.cloud.setNode(uuid, { extra: marked });
}

function hardwareOf({ cloud }: Scene, uuid: string): string {
  const { nodes, targets, connectors, attached, machines } = cloud;
  const own = [targets, connectors].map((kept) =>
    [...kept.values()].filter(({ node_uuid }) => node_uuid === uuid).map((one) => one.uuid),
  );
  return JSON.stringify([nodes.get(uuid), own, attached.get(uuid), machines.get(uuid)]);
}

test("no step back changes a node of another switchover, and each is made once that has ended", async (t) => {
  const before = switchedDump((await scene(t)).cloud);
  for (let died = 2; died <= CLAIMED; died += 1)
    for (const [at, victim] of SIDES.entries()) {
      const own = SIDES[1 - at] ?? "";
      const what = `${at === 0 ? "source" : "spare"}, died after ${died} lines`;
      const one = await scene(t);
      await forward(one, { lines: died });
      if (markOn(one, victim) === undefined) continue;
      marks(one, victim, THEIRS);
      const taken = hardwareOf(one, victim);
      one.cloud.calls.length = 0;
      const left = await back(one);
      assert.equal(hardwareOf(one, victim), taken, what);
      assert.ok(!writes(one.cloud).some((call) => call.includes(victim)), what);
      const named = left.filter((why) => why.includes(`${victim} is in switchover ${THEIRS}`));
      const stays = left.filter((why) => why.includes(`node unset UUID --extra ${SWITCH_MARK}`));
      assert.equal(named.length > 0 || left.length === 0, true, `${what}: ${left.join("; ")}`);
      assert.equal(markOn(one, own) === undefined, stays.length === 0, what);
      if (stays.length > 0) assert.match(stays.join(), new RegExp(`is still on ${own}:`), what);
      // Nothing of ours is on the node that keeps no mark.
      marks(one, victim, null);
      assert.deepEqual(await back(one), [], what);
      assert.equal(switchedDump(one.cloud), before, what);
    }
});

test("the mark of a switchover that lost its source before it changed anything is removed from its spare", async (t) => {
  const at = await scene(t);
  await forward(at, { until: "switchover-maintenance" });
  marks(at, SOURCE, THEIRS);
  const theirs = `node ${SOURCE} is in switchover ${THEIRS}: extra.${SWITCH_MARK}`;
  assert.deepEqual(await back(at), [theirs]);
  assert.deepEqual([markOn(at, SPARE), markOn(at, SOURCE)], [undefined, THEIRS]);
  assert.match(String((await switchState(at.run.path)).next), /^nova2ironic rollback .*--all/);
  assert.deepEqual(at.cloud.told, ["n-1 soft"]);
});

test("a node whose mark is gone without another switchover is named, and the other keeps its mark", async (t) => {
  for (const [victim, own, why, told] of [
    [SOURCE, SPARE, "was on before; power it on by hand: Failed", ["s-1 on"]],
    [SPARE, SOURCE, `is not powered on: node ${SPARE} no longer has the mark`, ["n-1 on"]],
  ] as const) {
    const at = await scene(t);
    at.cloud.setNode(SPARE, { provision_state: "manageable", power_state: "power on" });
    at.cloud.setMachine(SPARE, { on: true });
    await forward(at, { until: "switchover-volumes" });
    marks(at, victim, null);
    at.cloud.setMachine(SOURCE, { dead: victim === SOURCE });
    at.cloud.calls.length = 0;
    const [first = "", ...others] = await back(at);
    const tried = writes(at.cloud).filter((call) => call.endsWith(`${SOURCE}/states/power`));
    assert.equal(first.startsWith(`node ${victim} ${why}`), true, first);
    assert.deepEqual([others, markOn(at, own), tried.length], [[marksStay(own)], PLAN.id, 1]);
    assert.deepEqual(at.cloud.told.slice(2), told);
  }
});

test("the marks are read before each write: whoever loses one makes no other, forward or back", async (t) => {
  const whole = await scene(t);
  await forward(whole);
  const all = writes(whole.cloud).length;
  // The first two write the marks, the last two remove them.
  for (let k = 3; k <= all - 2; k += 1)
    for (const victim of SIDES) {
      const at = await scene(t);
      let from = 0;
      const takes = (): void => {
        marks(at, victim, THEIRS);
        from = at.cloud.calls.length;
      };
      at.cloud.once(isWrite, takes, k);
      const what = `${victim}, write ${k}`;
      assert.match((await forward(at)).why, new RegExp(`switchover ${THEIRS}`), what);
      await back(at);
      const later = writes(at.cloud, from).filter((call) => call.includes(victim));
      assert.deepEqual(later, [], what);
      assert.equal(markOn(at, victim), THEIRS, what);
      assert.ok(!at.cloud.told.some((one) => one.includes("twice")), what);
    }
});

/** A second spare, and a switchover of the same source to it. */
function rival(cloud: Switchable) {
  const destination = addSpare(cloud, 1);
  const names = { destination_name: "t-1", failed_name: "n-1-lost" };
  return { ...PLAN, ...names, id: uuidOf(7, 2), destination };
}

test("two switchovers of one source, of which one marks late, end in one, or in everything as it was", async (t) => {
  const first = await scene(t);
  rival(first.cloud);
  const before = switchedDump(first.cloud);
  await forward(first);
  const all = writes(first.cloud).length;
  const ends = new Set<string>();
  for (let k = 2; k <= all; k += 1) {
    const at = await scene(t);
    const other = { ...at, run: (await scene(t)).run };
    const plan = rival(at.cloud);
    let [sent, heard, over] = [0, 0, 0];
    at.cloud.use((call) => {
      if (!isWrite(call)) return null;
      heard += 1;
      if (call !== `PATCH /v1/nodes/${SOURCE}` || sent > 0) return null;
      sent += 1;
      // It arrives once the other has made so many calls, or has ended.
      const late = async (): Promise<void> => {
        while (heard < k && over === 0) await turn();
      };
      return { done: true, before: late() };
    });
    const ended = (): void => {
      over += 1;
    };
    const both = [forward(at), forward(other, { plan })];
    const halts = await Promise.all(both.map((one) => one.finally(ended)));
    at.cloud.use(() => null);
    const done = [at, other].filter((_, index) => halts[index]?.halted === null);
    assert.ok(done.length < 2, `write ${k}`);
    let [winner] = done;
    // Whoever loses runs his rollback once more when the other has ended.
    const losers = [at, other].filter((one) => one !== winner);
    const left: string[] = [];
    for (const one of [...losers, ...losers]) {
      if (one === winner) continue;
      const switched = switchedIn((await readJournal(one.run)).entries);
      if (switched === null || !isPastReturn(switched)) left.push(...(await back(one)));
      else {
        // What was deployed goes forward once an operator has marked the source again.
        marks(at, SOURCE, switched.plan.id);
        assert.equal((await forward(one, { plan: switched.plan })).halted, null, `write ${k}`);
        winner = one;
      }
    }
    assert.ok(!at.cloud.told.some((one) => one.includes("twice")), `write ${k}`);
    ends.add(winner === undefined ? "none" : "one");
    if (winner === undefined) assert.equal(switchedDump(at.cloud), before, `write ${k}`);
    else assert.deepEqual(await faults(winner), [], `write ${k}: ${left.join("; ")}`);
    const own = [SPARE, plan.destination].map((spare) => markOn(at, spare));
    assert.deepEqual(own, [undefined, undefined], `write ${k}: ${left.join("; ")}`);
    for (const one of losers.filter((other) => other !== winner))
      assert.equal(switchedIn((await readJournal(one.run)).entries), null, `write ${k}`);
  }
  assert.deepEqual([...ends].toSorted(), ["none", "one"]);
});
