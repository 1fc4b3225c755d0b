import assert from "node:assert/strict";
import { test } from "node:test";
import { objectOf } from "../../src/lib/json.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { SWITCH_MARK } from "../../src/switchover/rules/switching.ts";
import { switchedIn } from "../../src/switchover/switchover-run.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { back, CLAIMED, faults, forward, marksStay, SAID, scene } from "./scene.ts";
import { SOURCE, SPARE, switchedDump } from "./switch-memory.ts";

test("an instance goes on on a spare: one soft off, one power on, and nothing of it is left on the source", async (t) => {
  const at = await scene(t);
  const { halted, states } = await forward(at);
  assert.equal(halted, null);
  assert.deepEqual(states, [
    ...["CHECKED", "DST_MANAGEABLE", "SRC_OFF", "SRC_MAINT", "UNLINKED", "VOLUMES", "VIFS"],
    ...["DST_INFO", "DST_CLAIMED", "DST_ACTIVE", "ALLOCATION", "SRC_CLEARED", "DONE"],
  ]);
  assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1 on"]);
  assert.deepEqual(await faults(at), []);
  const { name, automated_clean, instance_info } = at.cloud.nodes.get(SOURCE) ?? {};
  assert.deepEqual([name, automated_clean, instance_info], ["n-1-failed", null, {}]);
  const { description, extra, ...spare } = at.cloud.nodes.get(SPARE) ?? {};
  assert.deepEqual([description, extra], ["a shop", { rack: 7, own: true, "a/b~": 1 }]);
  assert.deepEqual([spare.name, spare.automated_clean], ["n-1", null]);
  assert.deepEqual(spare.instance_info, { display_name: "web" });
  assert.deepEqual(at.cloud.attached.get(SPARE), [uuidOf(3, 1), uuidOf(3, 2)]);
  assert.deepEqual([...at.cloud.files], [[SPARE, [uuidOf(5, 1), uuidOf(5, 2)]]]);
  const { node_uuid, ...made } = at.cloud.allocations.get(uuidOf(9, 1)) ?? {};
  assert.deepEqual([node_uuid, made.name, made.extra], [SPARE, "web", { who: "me" }]);
});

test("B-10: the source is off before it is in maintenance, and connectors move before targets", async (t) => {
  const at = await scene(t);
  await forward(at);
  const named = writes(at.cloud).map((call) => call.replace(SOURCE, "SRC").replace(SPARE, "DST"));
  const made = named.map((call) => call.replaceAll(/\/[0-9a-f-]{36}/g, ""));
  assert.deepEqual(made, [
    ...["PATCH /v1/nodes/SRC", "PATCH /v1/nodes/DST", "PUT /v1/nodes/DST/states/provision"],
    // Asked twice for the proof, and again before each step that depends on it.
    ...["PUT /v1/nodes/SRC/states/power", "PUT /v1/nodes/SRC/states/power"],
    ...["PUT /v1/nodes/SRC/maintenance", "PATCH /v1/nodes/SRC", "PUT /v1/nodes/SRC/states/power"],
    ...["PATCH /v1/volume/connectors", "PATCH /v1/volume/targets", "PATCH /v1/volume/targets"],
    ...["DELETE /v1/nodes/SRC/vifs", "POST /v1/nodes/DST/vifs"],
    ...["DELETE /v1/nodes/SRC/vifs", "POST /v1/nodes/DST/vifs"],
    ...["PATCH /v1/nodes/SRC", "PATCH /v1/nodes/DST", "PATCH /v1/nodes/DST"],
    ...["PUT /v1/nodes/DST/states/provision", "PUT /v1/nodes/SRC/states/power"],
    "PUT /v1/nodes/DST/states/provision",
    ...["POST /v1/allocations", "PATCH /v1/nodes/DST"],
    ...["PATCH /v1/nodes/SRC", "PUT /v1/nodes/SRC/states/provision"],
    ...["PATCH /v1/nodes/DST", "PATCH /v1/nodes/SRC"],
  ]);
});

test("B-14: a death at any line of the journal is gone on from by the same command", async (t) => {
  const whole = await scene(t);
  await forward(whole);
  const end = switchedDump(whole.cloud);
  const lines = (await readJournal(whole.run)).entries.length - 1;
  for (let died = 0; died < lines; died += 1) {
    const at = await scene(t);
    await forward(at, { lines: died });
    const { halted } = await forward(at);
    assert.equal(halted, null, `died after ${died} lines`);
    assert.deepEqual(await faults(at), [], `died after ${died} lines`);
    assert.equal(switchedDump(at.cloud), end, `died after ${died} lines`);
    assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1 on"], `died after ${died} lines`);
  }
});

test("B-14: a spare that had nothing to do at first is gone on with after each death in and after its deploy", async (t) => {
  const begun = async () => {
    const at = await scene(t);
    const ready = { provision_state: "manageable", power_state: "power off" };
    at.cloud.setNode(SPARE, ready);
    return at;
  };
  const whole = await begun();
  await forward(whole);
  const { entries } = await readJournal(whole.run);
  const steps = entries.flatMap((entry) => ("part" in entry ? [entry.part] : []));
  assert.equal(steps.includes("switchover-destination"), false);
  for (let died = steps.indexOf("switchover-deploy"); died < steps.length; died += 1) {
    const at = await begun();
    await forward(at, { lines: died });
    assert.equal((await forward(at)).halted, null, `died after ${died} lines`);
    assert.deepEqual(await faults(at), [], `died after ${died} lines`);
  }
});

test("B-14: a death at any line before the spare is deployed is rolled back, and everything is as it was", async (t) => {
  const whole = await scene(t);
  const before = switchedDump(whole.cloud);
  await forward(whole);
  const { entries } = await readJournal(whole.run);
  const parts = entries.map((entry) => ("part" in entry ? entry.part : ""));
  const deployed = parts.indexOf("switchover-deploy");
  assert.equal(deployed, CLAIMED + 1, "and the first line opens it");
  for (let died = 0; died < deployed; died += 1) {
    const at = await scene(t);
    await forward(at, { lines: died });
    assert.deepEqual(await back(at), [], `died after ${died} lines`);
    assert.equal(switchedDump(at.cloud), before, `died after ${died} lines`);
    assert.equal(switchedIn((await readJournal(at.run)).entries), null);
  }
});

test("a rollback that dies at any line is ended by the next, or gone on from, and the switchover can begin anew", async (t) => {
  const first = await scene(t);
  const before = switchedDump(first.cloud);
  const until = { lines: CLAIMED };
  await forward(first, until);
  const there = (await readJournal(first.run)).entries.length;
  await back(first);
  const lines = (await readJournal(first.run)).entries.length - there;
  assert.ok(lines > 10, String(lines));
  for (let died = 0; died < lines; died += 1) {
    const at = await scene(t);
    await forward(at, until);
    await back(at, died);
    assert.deepEqual(await back(at), []);
    assert.equal(switchedDump(at.cloud), before, `died after ${died} lines`);
    if (died % 3 > 0) continue;
    const on = await scene(t);
    await forward(on, until);
    await back(on, died);
    assert.equal((await forward(on)).halted, null, `died after ${died} lines`);
    assert.deepEqual(await faults(on), [], `died after ${died} lines`);
  }
  assert.equal((await forward(first)).halted, null);
  assert.deepEqual(await faults(first), []);
});

test("B-9: a BMC that is dead moves nothing until somebody else says that the source is off", async (t) => {
  const at = await scene(t);
  const machine = at.cloud.machines.get(SOURCE);
  assert.ok(machine !== undefined);
  machine.dead = true;
  const { halted } = await forward(at);
  assert.equal(halted?.position?.unproven, true);
  assert.match(
    halted.position.reasons.join(),
    /power_state is power on, last_error Failed to change/,
  );
  assert.equal(at.cloud.targets.get(uuidOf(5, 1))?.node_uuid, SOURCE);
  assert.equal(at.cloud.nodes.get(SOURCE)?.maintenance, false);
  // Meanwhile Ironic gives up, as it does by itself.
  const gaveUp = { power_state: null, maintenance_reason: "it does not answer" };
  at.cloud.setNode(SOURCE, { ...gaveUp, maintenance: true, fault: "power failure" });
  machine.on = false;
  assert.equal((await forward(at, { fence: SAID })).halted, null);
  const { provision_state, fault, maintenance, automated_clean } = at.cloud.nodes.get(SOURCE) ?? {};
  const now = [provision_state, fault, maintenance, automated_clean];
  assert.deepEqual(now, ["error", null, true, null]);
  assert.equal(at.cloud.files.has(SOURCE), false);
  assert.deepEqual(await faults(at), []);
  const { entries } = await readJournal(at.run);
  assert.match(JSON.stringify(entries), /"proof":"--source-confirmed-off","by":"somebody"/);
});

test("B-8: a machine that cannot or does not shut down softly is powered off", async (t) => {
  for (const what of [{ soft: false }, { obeys: false }]) {
    const at = await scene(t);
    at.cloud.setMachine(SOURCE, what);
    assert.equal((await forward(at)).halted, null, JSON.stringify(what));
    assert.deepEqual(at.cloud.told, ["n-1 off", "n-1 on"]);
  }
});

test("what somebody changed since is left and told, and the source stays off without its volumes", async (t) => {
  const at = await scene(t);
  await forward(at, { lines: CLAIMED });
  const spare = at.cloud.nodes.get(SPARE);
  assert.ok(spare !== undefined && at.cloud.targets.get(uuidOf(5, 2))?.node_uuid === SPARE);
  Object.assign(spare, { description: "mine now" });
  Object.assign(at.cloud.targets.get(uuidOf(5, 2)) ?? {}, { node_uuid: uuidOf(1, 99) });
  assert.deepEqual(await back(at), [
    `description of node ${SPARE} was changed by another user`,
    `volume target ${uuidOf(5, 2)} belongs to node ${uuidOf(1, 99)}`,
    `node ${SOURCE} did not get its instance back: not all of its volumes are back`,
    `node ${SOURCE} stays in maintenance: not all of its volumes are back`,
    `node ${SOURCE} is not powered on: not all volumes of the source are back`,
    marksStay(SOURCE, SPARE),
  ]);
  assert.equal(spare.description, "mine now");
  assert.equal(at.cloud.targets.get(uuidOf(5, 1))?.node_uuid, SOURCE, "what can be is back");
  assert.equal(at.cloud.machines.get(SOURCE)?.on, false);
  assert.notEqual(objectOf(spare.extra)[SWITCH_MARK], undefined);
});
