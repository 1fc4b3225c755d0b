import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MARK } from "../../src/manage/rules/criteria.ts";
import { novaPart } from "../../src/manage/steps/manage-nova.ts";
import { novaBackPart } from "../../src/manage/steps/manage-nova-back.ts";
import { instead } from "../support/faulty-service.ts";
import { uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, giveHardware } from "./nova-expect.ts";
import { back, begun, changeIn, REQUEST, type Scene, scene } from "./nova-ways.ts";

const ENDED = /^DELETE .*maintenance/;
const BUSY = instead(409, { error_message: "locked" });

/** Torn down on fake hardware: its machine runs on, and its disk is whole. */
function deletedByUser({ cloud: { node, port, servers } }: Scene): void {
  servers.clear();
  Object.assign(node, { provision_state: "available", instance_uuid: null, instance_info: {} });
  Object.assign(port, { device_id: "", device_owner: "" });
}

const DELETING = { provision_state: "deleting", target_provision_state: "available" };

const UNHELD = { maintenance: false, maintenance_reason: null };

/** A machine whose server is to be taken away, as it was looked at. */
async function inspected(at: Scene, unasked = false) {
  const change = { ...(await changeIn(at)), request: null };
  const part = novaBackPart(at.hands, 1, unasked);
  const [seen = assert.fail()] = await part.inspect([change], false);
  return { change, part, seen };
}

test("a machine that was never out of maintenance with its server is not let go without it", async (t) => {
  const at = await scene(t);
  const { node } = at.cloud;
  const real = { ...node };
  at.cloud.fail((call) => node.driver === "ipmi" && ENDED.test(call), BUSY);
  await forwardEnds(at, /locked; it stays on fake hardware; .*held/);
  at.cloud.use(() => null);
  assert.ok((await changeIn(at)).acts.some(({ step }) => step === "handed"));
  deletedByUser(at);
  // Against what its operator was told.
  giveHardware(at, real);
  await backEnds(at, /it is available, but the run left it active: if the machine is free/);
  assertIs(at, "ipmi", true);
  // As it is told to.
  for (const name of Object.keys(node)) if (name.endsWith("_interface")) node[name] = "fake";
  Object.assign(node, { driver: "fake-hardware", network_interface: "flat" });
  assert.deepEqual(await back(at), []);
  assertIs(at, "ipmi", false);
  assert.deepEqual([node.provision_state, node.extra], ["active", { rack: 1 }]);
});

test("a machine that another run manages anew stays out of the first run's maintenance", async (t) => {
  const at = await begun(t);
  const { node } = at.cloud;
  deletedByUser(at);
  const other = uuidOf(7, 2);
  const theirs = { driver: "fake-hardware", instance_uuid: uuidOf(8, 7), extra: { [MARK]: other } };
  Object.assign(node, theirs);
  const before = JSON.stringify(node);
  await backEnds(at, new RegExp(`it is already managed: .*${other}`));
  assert.equal(JSON.stringify(node), before);
});

test("one whose user deletes his server as its way back begins is not held", async (t) => {
  const at = await begun(t, 11);
  const { node } = at.cloud;
  // Its end was never seen.
  Object.assign(node, UNHELD);
  const { change, part, seen } = await inspected(at);
  assert.equal(change.acts.at(-1)?.step, "handed");
  at.cloud.once(/os-interface/, () => Object.assign(node, { instance_uuid: null, ...DELETING }));
  const done = await part.perform(change, seen, () => Promise.resolve());
  assert.match(done.reasons.join(), /it no longer has server/);
  assert.equal(node.maintenance, false);
});

test("one that got its driver and its user after the look stays out of the way back's maintenance", async (t) => {
  const { at, change, seen, part, real } = await held(t, "fake-hardware");
  giveHardware(at, real);
  Object.assign(at.cloud.node, UNHELD);
  const done = await part.perform({ ...change, back: true }, seen, () => Promise.resolve());
  assert.equal(done.is, "after");
  assertIs(at, "ipmi", false);
});

test("a port that its user detaches after the look keeps rollback from its server", async (t) => {
  const at = await begun(t);
  const { port } = at.cloud;
  const { change, part, seen } = await inspected(at);
  Object.assign(port, { device_id: "", device_owner: "" });
  const done = await part.perform(change, seen, () => Promise.resolve());
  assert.match(done.reasons.join(), /no longer has port .*attach it first/);
  assertIs(at, "ipmi", false, 1);
  assert.equal(port.device_id, "");
});

/** A machine of an open run, held on its own hardware with its server, and its position as seen by then. */
async function held(t: TestContext, driver: string) {
  const at = await begun(t, 9);
  const { node } = at.cloud;
  const change = { ...(await changeIn(at)), request: REQUEST };
  const real = { ...node };
  if (driver !== "ipmi") node.driver = driver;
  const part = novaPart(at.hands, 1);
  const [seen = assert.fail()] = await part.inspect([change], false);
  return { at, change, seen, part, real };
}

test("one that got its driver and its user after the look is not held again", async (t) => {
  const { at, change, seen, part, real } = await held(t, "fake-hardware");
  const { node, calls } = at.cloud;
  assert.equal(seen.onFake, true);
  giveHardware(at, real);
  Object.assign(node, UNHELD);
  const from = calls.length;
  const done = await part.perform(change, seen, () => Promise.resolve());
  assert.equal(done.is, "after");
  assert.ok(!calls.slice(from).some((call) => /^PUT .*maintenance/.test(call)));
  assertIs(at, "ipmi", false);
});

test("one whose maintenance ends while its way back begins is its user's", async (t) => {
  for (const unasked of [true, false]) {
    const { at } = await held(t, "ipmi");
    const { change, part, seen } = await inspected(at, unasked);
    assert.equal(seen.is, "before");
    // Its ports are looked at right before the machine is held.
    at.cloud.once(/^GET .*ports\?.*device_id=|os-interface/, () =>
      Object.assign(at.cloud.node, UNHELD),
    );
    const steps: unknown[] = [];
    const done = await part.perform(change, seen, async (act) => void steps.push(act?.step));
    assert.equal(done.inService, true);
    assert.match(done.reasons.join(), /its maintenance was ended during the rollback/);
    assertIs(at, "ipmi", false, 1);
    assert.ok(steps.includes("out"), String(steps));
  }
});
