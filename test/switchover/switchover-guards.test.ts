import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/run/files/journal.ts";
import { SWITCH_MARK, SWITCH_STATES } from "../../src/switchover/rules/switching.ts";
import { markStep } from "../../src/switchover/steps/switch-fields.ts";
import { switchAt } from "../../src/switchover/switchover-execute.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { refuses, uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { back, faults, forward, PLAN, scene } from "./scene.ts";
import { SOURCE, SPARE, type Switchable, switchedDump } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

const OTHER = uuidOf(9, 77);

test("a source that has another instance by now is not switched off", async (t) => {
  const off = await scene(t);
  await forward(off, { until: "switchover-power" });
  off.cloud.setNode(SOURCE, { instance_uuid: OTHER });
  assert.match((await forward(off)).why, /has instance 99999999-.*077, expected 9999/);
  assert.deepEqual(off.cloud.told, []);
  assert.deepEqual(await back(off), []);
  assert.equal(off.cloud.nodes.get(SOURCE)?.instance_uuid, OTHER);
});

test("a mark that another switchover set while ours met a lock is not written over", async (t) => {
  const at = await scene(t);
  const theirs = { rack: 7, nova2ironic_switchover: "theirs" };
  let met = false;
  at.cloud.use((call) => {
    if (met || call !== `PATCH /v1/nodes/${SOURCE}`) return null;
    met = true;
    at.cloud.setNode(SOURCE, { extra: theirs });
    return { done: false, says: refuses(409, "Node is locked by host lab") };
  });
  const { halted } = await forward(at);
  assert.equal(halted?.step.name, "switchover-hold");
  assert.deepEqual(at.cloud.nodes.get(SOURCE)?.extra, theirs);
  await back(at);
  assert.deepEqual(at.cloud.nodes.get(SOURCE)?.extra, theirs);
  assert.deepEqual(at.cloud.told, []);
});

test("a destination that is deleted amid it does not keep the source from getting its instance back", async (t) => {
  const at = await scene(t);
  const before = structuredClone(at.cloud.nodes.get(SOURCE));
  await forward(at, { until: "switchover-volumes" });
  at.cloud.nodes.delete(SPARE);
  assert.match((await forward(at)).why, /node \S+ .*was deleted/);
  assert.deepEqual(await back(at), []);
  const { driver_internal_info: _, last_error: __, ...now } = at.cloud.nodes.get(SOURCE) ?? {};
  const { driver_internal_info: ___, last_error: ____, ...was } = before ?? {};
  assert.deepEqual(now, was);
  assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1 on"]);
});

test("who stops it at any step goes on with the same command", async (t) => {
  const whole = await scene(t);
  await forward(whole);
  const end = switchedDump(whole.cloud);
  // Two of them do nothing here.
  const { entries } = await readJournal(whole.run);
  const begun = new Set(entries.flatMap((one) => (one.do === "start" ? [one.part] : [])));
  const steps = Object.keys(SWITCH_STATES).filter((name) => begun.has(name));
  assert.ok(steps.length > 10, steps.join());
  for (const stopAt of steps) {
    const at = await scene(t);
    const { halted } = await forward(at, { stopAt });
    if (stopAt !== "switchover-release") assert.equal(halted?.position, null, stopAt);
    assert.equal((await forward(at)).halted, null, stopAt);
    assert.deepEqual(await faults(at), [], stopAt);
    assert.equal(switchedDump(at.cloud), end, stopAt);
    assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1 on"], stopAt);
  }
});

test("a machine that is on is not switched off as a spare unless somebody names it", async (t) => {
  const { cloud, how, own, next } = await commandScene(t);
  cloud.nodes.delete(next);
  const spare = cloud.nodes.get(SPARE) ?? {};
  Object.assign(spare, { provision_state: "manageable", power_state: "power on" });
  cloud.setMachine(SPARE, { on: true });
  const passed = await run(["node", "switchover", "n-1", ...own], how);
  assertRefusal({ ...passed, out: "" }, 4, "N2I-E387", /1 node that is not off was skipped/);
  // What is in enroll is asked first.
  Object.assign(spare, { provision_state: "enroll", power_state: null });
  const asked = await run(["node", "switchover", "n-1", ...own], how);
  assertRefusal({ ...asked, out: "" }, 4, "N2I-E384", /is on, and it was not specified/);
  assert.deepEqual(cloud.told, []);
  assert.equal(cloud.nodes.get(SOURCE)?.power_state, "power on");
  await runs(0, ["node", "switchover", "n-1", "s-1", ...own], how);
  assert.deepEqual(cloud.told, ["s-1 off", "n-1 soft", "n-1 on"]);
});

/** What is wrong with the pair, or with how its nodes are named; the third is another spare. */
const WRONG: readonly (readonly [
  change: (cloud: Switchable, third: string) => unknown,
  nodes: string,
  code: string,
  why: RegExp,
])[] = [
  [
    ({ targets }, node_uuid) =>
      targets.set(uuidOf(5, 9), { ...targets.get(uuidOf(5, 1)), uuid: uuidOf(5, 9), node_uuid }),
    ...(["n-1 s-1", "N2I-E382", /its volume v-0 also belongs to node \S+/] as const),
  ],
  [
    ({ setNode }) => setNode(SPARE, { instance_info: { image_source: "x" } }),
    ...(["n-1 s-1", "N2I-E384", /would write that image/] as const),
  ],
  [() => undefined, `n-1 ${uuidOf(1, 99)}`, "N2I-E384", /no node/],
  [
    ({ setNode }) => setNode(SPARE, { name: uuidOf(1, 98) }),
    ...([`n-1 ${uuidOf(1, 98)}`, "N2I-E212", /returned unexpected data/] as const),
  ],
];

test("what is shared, of other hardware or misnamed is refused, and nothing is changed", async (t) => {
  for (const [change, nodes, code, why] of WRONG) {
    const { cloud, how, own, next } = await commandScene(t);
    change(cloud, next);
    const before = switchedDump(cloud);
    const words = ["node", "switchover", ...nodes.split(" "), ...own];
    const { status, err } = await run(words, how);
    assert.notEqual(status, 0);
    assert.match(err, new RegExp(code), err);
    assert.match(err, why, err);
    assert.deepEqual(writes(cloud), []);
    assert.equal(switchedDump(cloud), before);
  }
});

test("connectors of hardware stay, and the spare needs as many", async (t) => {
  const { cloud, how, own } = await commandScene(t);
  const add = (uuid: string, node_uuid: string, connector_id: string) =>
    cloud.connectors.set(uuid, { uuid, node_uuid, type: "wwpn", connector_id });
  add(uuidOf(6, 5), SOURCE, "wwn-1");
  const kept = await run(["node", "switchover", "n-1", "s-1", ...own], how);
  assertRefusal({ ...kept, out: "" }, 4, "N2I-E386", /volume connectors that stay: wwpn != none/);
  add(uuidOf(6, 6), SPARE, "wwn-2");
  await runs(0, ["node", "switchover", "n-1", "s-1", ...own], how);
  assert.equal(cloud.connectors.get(uuidOf(6, 5))?.node_uuid, SOURCE);
});

test("an extra of 3 MB, and a name as long as Ironic takes, are carried over", async (t) => {
  const { cloud, how, own } = await commandScene(t);
  const [long, big] = ["n".repeat(255), "x".repeat(3 * 1024 * 1024)];
  cloud.setNode(SOURCE, { name: long, extra: { big } });
  await runs(0, ["node", "switchover", SOURCE, "s-1", ...own], how);
  const [source, spare] = [cloud.nodes.get(SOURCE), cloud.nodes.get(SPARE)];
  assert.equal(JSON.stringify(spare?.extra).length > big.length, true);
  assert.deepEqual([spare?.name === long, String(source?.name).length], [true, 255]);
});

test("a rollback that leaves what somebody changed since names it, and ends with 2", async (t) => {
  const { cloud, how, own, path } = await commandScene(t);
  let patches = 0;
  cloud.use((call) => {
    if (call === `PATCH /v1/nodes/${SPARE}`) patches += 1;
    // The mark and the fields are written; the claim is not.
    return patches > 2 ? { done: false, says: refuses(500, "broken") } : null;
  });
  await runs(5, ["node", "switchover", "n-1", "s-1", ...own], how);
  cloud.use(() => null);
  cloud.setNode(SPARE, { description: "mine now" });
  const back = ["rollback", "--run", path, ...cloud.words, "--all", "--yes"];
  const { out, err } = await runs(2, back, how);
  assert.match(out + err, new RegExp(`description of node ${SPARE} was changed by another user`));
  assert.equal(cloud.nodes.get(SPARE)?.description, "mine now");
  assert.equal(cloud.nodes.get(SOURCE)?.instance_uuid, PLAN.instance_uuid);
});

test("the marks of both nodes are read again once they had time to settle, and not before", async (t) => {
  const { cloud, service } = await scene(t);
  let now = 0;
  const hold = markStep(switchAt(service, PLAN, () => [], { now: () => now }));
  const spare = cloud.nodes.get(SPARE) ?? {};
  for (const node of [cloud.nodes.get(SOURCE) ?? {}, spare])
    Object.assign(node, { extra: { [SWITCH_MARK]: PLAN.id } });
  const seen = async (at: number) => {
    now = at;
    const before = cloud.calls.length;
    const { is } = await hold.inspect(null);
    return [is, cloud.calls.length - before];
  };
  assert.deepEqual(await seen(0), ["partway", 2]);
  assert.deepEqual(await seen(999), ["partway", 0]);
  assert.deepEqual(await seen(2000), ["after", 2]);
  Object.assign(spare, { extra: {} });
  assert.deepEqual(await seen(4000), ["before", 2]);
  Object.assign(spare, { extra: { [SWITCH_MARK]: PLAN.id } });
  assert.deepEqual(await seen(4001), ["partway", 2], "one that is marked anew settles anew");
});
