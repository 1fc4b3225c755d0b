import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { readJournal } from "../../src/run/files/journal.ts";
import { run, runs } from "../hostile/cli.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { REFUSED } from "../manage/scene.ts";
import { back, forward, marksStay, SAID, type Scene, scene } from "./scene.ts";
import { type Machine, SOURCE, SPARE, switchedDump } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

/** A source whose BMC is dead and whose power somebody pulled. */
function pulled({ cloud }: Scene): Machine {
  const machine = cloud.machines.get(SOURCE);
  assert.ok(machine !== undefined);
  return Object.assign(machine, { dead: true, on: false });
}

const ownerOf = ({ cloud }: Scene): unknown => cloud.targets.get(uuidOf(5, 1))?.node_uuid;
const AT_VIFS = { until: "switchover-vifs" } as const;

test("that somebody saw the source off counts for his command alone: the next asks its BMC again", async (t) => {
  const at = await scene(t);
  const machine = pulled(at);
  await forward(at, { fence: SAID, until: "switchover-volumes" });
  const { halted } = await forward(at);
  assert.equal(halted?.position?.unproven, true, "and wants the word again");
  assert.equal(ownerOf(at), SOURCE);
  // Somebody repairs it overnight, and it starts.
  Object.assign(machine, { dead: false, on: true });
  assert.equal((await forward(at)).halted, null);
  assert.deepEqual(at.cloud.told, ["n-1 off", "n-1 on"]);
});

test("a BMC that says on without an error outranks whoever saw the source off", async (t) => {
  const at = await scene(t);
  at.cloud.setMachine(SOURCE, { soft: false, stuck: true });
  const { halted } = await forward(at, { fence: SAID });
  assert.equal(halted?.position?.unproven, true);
  assert.equal(halted.step.name, "switchover-power");
  assert.equal(ownerOf(at), SOURCE);
});

/** Calls that bring the spare to another state: manage, provide, active. */
const PROVISION = `PUT /v1/nodes/${SPARE}/states/provision`;

/** One that got as far as `provide`. */
async function provided(t: TestContext): Promise<Scene> {
  const at = await scene(t);
  at.cloud.fail(PROVISION, REFUSED, 3);
  assert.match((await forward(at)).why, /not today/);
  assert.equal(at.cloud.nodes.get(SPARE)?.provision_state, "available");
  at.cloud.use(() => null);
  return at;
}

test("no spare is made active while the source is not confirmed to be off, or a volume is not the spare's", async (t) => {
  const at = await provided(t);
  at.cloud.setMachine(SOURCE, { on: true, dead: true });
  assert.equal((await forward(at)).halted?.position?.unproven, true);
  at.cloud.setMachine(SOURCE, { dead: false });
  Object.assign(at.cloud.targets.get(uuidOf(5, 2)) ?? {}, { node_uuid: SOURCE });
  assert.match((await forward(at)).why, /^not all of its volumes belong to/);
  assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1-failed off"]);
});

test("a source that is switched on amid the same command is off before volumes move, and before active", async (t) => {
  for (const [call, told] of [
    [`PUT /v1/nodes/${SOURCE}/maintenance`, ["n-1 soft", "n-1 off", "n-1 on"]],
    [`POST /v1/nodes/${SPARE}/vifs`, ["n-1 soft", "n-1-failed off", "n-1 on"]],
  ] as const) {
    const at = await scene(t);
    at.cloud.once(call, () => at.cloud.setMachine(SOURCE, { on: true }));
    assert.equal((await forward(at)).halted, null);
    assert.deepEqual(at.cloud.told, told);
  }
});

test("a rollback whose volumes cannot go back gives a fenced source nothing back, and never powers it on", async (t) => {
  const at = await scene(t);
  const before = switchedDump(at.cloud);
  const machine = pulled(at);
  at.cloud.fail(`DELETE /v1/nodes/${SOURCE}/vifs/${uuidOf(3, 1)}`, REFUSED);
  assert.match((await forward(at, { fence: SAID })).why, /not today/);
  at.cloud.use(() => null);
  assert.deepEqual(await back(at), [
    `volumes cannot be moved back until Ironic shows node ${SOURCE} as 'power off': it is power on`,
    `node ${SOURCE} did not get its instance back: not all of its volumes are back`,
    `node ${SOURCE} stays in maintenance: not all of its volumes are back`,
    `node ${SOURCE} is not powered on: not all volumes of the source are back`,
    marksStay(SOURCE, SPARE),
  ]);
  const source = at.cloud.nodes.get(SOURCE);
  assert.deepEqual([source?.maintenance, source?.instance_uuid], [true, null]);
  assert.equal(ownerOf(at), SPARE);
  // Its BMC is repaired.
  machine.dead = false;
  Object.assign(source ?? {}, { power_state: "power off", last_error: null });
  assert.deepEqual(await back(at), [
    `node ${SOURCE} was on before; power it on by hand: its power was cut by hand`,
    marksStay(SOURCE, SPARE),
  ]);
  assert.deepEqual(at.cloud.told, []);
  machine.on = true;
  Object.assign(source ?? {}, { power_state: "power on" });
  assert.deepEqual(await back(at), []);
  assert.equal(switchedDump(at.cloud), before);
});

/** Changes of a node by an operator, after which the next step is not made. */
const CHANGED = [
  ["switchover-volumes", SOURCE, { extra: {} }, /no longer has the mark of this switchover/],
  ["switchover-volumes", SOURCE, { maintenance_reason: "mine" }, /in the maintenance of this/],
  ["switchover-clear", SOURCE, { extra: {} }, /no longer has the mark/],
  ["switchover-clear", SOURCE, { instance_uuid: uuidOf(9, 77) }, /has instance/],
  ["switchover-deploy", SPARE, { automated_clean: null }, /would be cleaned/],
  ["switchover-deploy", SPARE, { instance_info: { image_source: "x" } }, /write that image/],
] as const;

test("a step is not made on a node that an operator changed so that the step would harm it", async (t) => {
  for (const [until, node, change, why] of CHANGED) {
    const at = await scene(t);
    await forward(at, { until });
    at.cloud.setNode(node, change);
    const { provision_state } = at.cloud.nodes.get(node) ?? {};
    const [told, owner] = [[...at.cloud.told], ownerOf(at)];
    assert.match((await forward(at)).why, why);
    assert.equal(at.cloud.nodes.get(node)?.provision_state, provision_state);
    assert.deepEqual([at.cloud.told, ownerOf(at)], [told, owner]);
  }
});

type PowerFields = { readonly power_state?: string | null; readonly last_error?: string };
const ON: PowerFields = { power_state: "power on" };

/** How a spare with the volumes is by the time of a rollback, what Ironic says of it, and what is left. */
const SPARES: readonly (readonly [string, Partial<Machine>, PowerFields, RegExp])[] = [
  ["somebody powered it on", { on: true }, ON, /power_state is power on/],
  [
    ...(["an action failed before", { on: true }, { ...ON, last_error: "old" }] as const),
    /power_state is power on, last_error old/,
  ],
  ["nobody knows its power", {}, { power_state: null }, /power_state is null/],
  ["its BMC is dead", { on: true, dead: true }, {}, /power_state is power off, last_error Failed/],
];

const FENCED = { proof: "--fence-command", by: "operator" };

test("a rollback takes no volume from a spare that is not confirmed to be off, and leaves the source off", async (t) => {
  for (const [what, machine, node, why] of SPARES) {
    const at = await scene(t);
    const before = switchedDump(at.cloud);
    await forward(at, AT_VIFS);
    at.cloud.setMachine(SPARE, machine);
    at.cloud.setNode(SPARE, node);
    const [first = "", ...others] = await back(at);
    assert.match(
      first,
      new RegExp(`node ${SPARE} is not confirmed to be off: ${why.source}`),
      what,
    );
    assert.match(first, /Power it off, then run rollback again/, what);
    assert.equal(others.at(-1), marksStay(SOURCE, SPARE), what);
    assert.deepEqual([ownerOf(at), at.cloud.told], [SPARE, ["n-1 soft"]], what);
    const isOn = node.power_state === "power on";
    at.cloud.setMachine(SPARE, { on: isOn });
    // A fence command does not count against an Ironic that has it on.
    assert.equal((await back(at, undefined, FENCED)).length > 0, isOn);
    assert.equal(ownerOf(at), isOn ? SPARE : SOURCE, what);
    assert.equal(at.cloud.told.includes("s-1 off"), false, what);
    at.cloud.setMachine(SPARE, { on: false, dead: false });
    at.cloud.setNode(SPARE, { power_state: "power off" });
    assert.deepEqual(await back(at), [], what);
    assert.equal(switchedDump(at.cloud), before, what);
    const { entries } = await readJournal(at.run);
    const kept = entries.filter(
      (one) => "observed" in one && isDeepStrictEqual(one.observed, FENCED),
    );
    assert.equal(kept.length === 0, isOn);
  }
});

test("a spare that is on unseen by Ironic is off before a rollback takes its volumes, and one that goes on amid it keeps them", async (t) => {
  const unseen = await scene(t);
  await forward(unseen, AT_VIFS);
  unseen.cloud.setMachine(SPARE, { on: true });
  assert.deepEqual(await back(unseen), []);
  assert.deepEqual(unseen.cloud.told, ["n-1 soft", "s-1 off", "n-1 on"]);

  const amid = await scene(t);
  await forward(amid, AT_VIFS);
  amid.cloud.once(`PATCH /v1/volume/targets/${uuidOf(5, 1)}`, () =>
    amid.cloud.setNode(SPARE, { power_state: "power on" }),
  );
  assert.match((await back(amid))[0] ?? "", /is not confirmed to be off: power_state is power on/);
  assert.equal(amid.cloud.targets.get(uuidOf(5, 2))?.node_uuid, SPARE);
  assert.deepEqual(amid.cloud.told, ["n-1 soft"]);
});

test("rollback of a switchover whose spare somebody powered on names the spare and exits with 2", async (t) => {
  const { cloud, how, own, path } = await commandScene(t);
  cloud.once(/^DELETE .*vifs/, () => {
    cloud.setMachine(SPARE, { on: true, dead: true });
    cloud.fail(/^DELETE .*vifs/, REFUSED);
  });
  const fence = ["--fence-command", "/usr/bin/true"];
  const forth = await run(["node", "switchover", "n-1", "s-1", ...own, ...fence], how);
  // The program of the switchover counts for the source alone.
  assert.match(forth.err, new RegExp(`N2I-E301 .*node ${SPARE} is not confirmed to be off`));
  assert.equal(cloud.targets.get(uuidOf(5, 1))?.node_uuid, SPARE);
  cloud.use(() => null);
  cloud.setMachine(SPARE, { dead: false });
  cloud.setNode(SPARE, ON);
  const words = ["rollback", "--run", path, ...cloud.words, "--all", "--yes"];
  const { out } = await runs(2, words, how);
  assert.match(
    out,
    new RegExp(`node ${SPARE} is not confirmed to be off: power_state is power on`),
  );
  assert.deepEqual(cloud.told, ["n-1 soft"]);
  cloud.setMachine(SPARE, { on: false, dead: true });
  cloud.setNode(SPARE, { power_state: "power off" });
  const dead = await runs(2, words, how);
  assert.match(dead.out, /If its BMC is dead, run rollback with --fence-command PROGRAM/);
  await runs(0, [...words, ...fence], how);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
});
