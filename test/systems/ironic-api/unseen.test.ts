import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { idle, instead, numberedWrites } from "../../support/faulty-service.ts";
import { bothWays, livingIronic, machineOf, NODE } from "./living.ts";

before(() => pauseShorter(0));
after(() => pauseShorter(1));

const ACCEPTED = instead(202);
const STATES = `PUT /v1/nodes/${NODE}/states/provision`;

test("manage that is accepted of a machine whose adoption failed, and does not show, is no second failure", async (t) => {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf()]);
  await run.apply();
  Object.assign(ironic.nodes.get(NODE) ?? {}, {
    ...{ provision_state: "adopt failed", last_error: "no boot", protected: false },
  });
  ironic.use((call) => (call === STATES ? ACCEPTED : null));
  const { failed } = await run.apply();
  assert.match(
    failed[0]?.reason ?? "",
    /^manage was accepted 3 times, but it is still adopt failed/,
  );
});

test("a last call that was accepted is looked at before its machine is done", async (t) => {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf({ protected: false, protected_reason: null })]);
  await run.apply();
  const killed = run.rollback(async (point) => {
    if (point === "rest.after") throw new Error("killed");
  });
  await assert.rejects(killed, /killed/);
  ironic.use((call) => (call === `DELETE /v1/nodes/${NODE}/maintenance` ? ACCEPTED : null));
  const { failed } = await run.apply();
  assert.match(failed[0]?.reason ?? "", /^release was accepted, but has no effect/);
  ironic.use(() => null);
  assert.deepEqual((await run.apply()).failed, []);
  assert.equal(ironic.nodes.get(NODE)?.maintenance, false);
});

test("a call waits for a conductor that holds the node, and is made all the same of one that never lets go", async (t) => {
  const ironic = await livingIronic(t);
  let looks = 0;
  const before: number[] = [];
  ironic.use((call) => {
    const node = ironic.nodes.get(NODE);
    if (call.startsWith(`GET /v1/nodes/${NODE}`)) looks += 1;
    if (call === STATES) {
      before.push(looks);
      if (node !== undefined) node.reservation = "lab";
    }
    if (node !== undefined && before.length === 1 && looks === 3) node.reservation = null;
    return null;
  });
  const { failed } = await bothWays(ironic, [machineOf()]).apply();
  assert.deepEqual([failed, before], [[], [0, 3]]);
  assert.equal(looks, 3 + 1 + 6, "active, it was looked at six times more before its protection");
});

test("no write of an adoption, nor of its rollback, that is answered with 200 and not made counts as made", async (t) => {
  const free = { provision_state: "available", protected: false, protected_reason: null };
  const held = { maintenance: true, maintenance_reason: "look", traits: ["CUSTOM_A"] };
  const verbs: string[] = [];
  for (const more of [held, free]) {
    const ironic = await livingIronic(t);
    const whole = bothWays(ironic, [machineOf(more)]);
    await whole.apply();
    const there = numberedWrites(ironic.calls.splice(0));
    await whole.rollback();
    const back = numberedWrites(ironic.calls.splice(0));
    assert.ok(there.length > 4 && back.length > 1);
    for (const [call, nth] of there) {
      const run = bothWays(ironic, [machineOf(more)]);
      const came = idle(ironic, call, nth);
      const { failed } = await run.apply();
      const why = failed[0]?.reason ?? "";
      assert.match(
        why,
        /accepted|200, but the response does not contain/,
        `${call}, ${nth}: ${why}`,
      );
      assert.ok(came() >= 1 && came() <= 3, call);
      if (call === STATES) verbs.push(`${why}, asked ${came()} times`);
      ironic.use(() => null);
      assert.deepEqual((await run.rollback()).skipped, []);
      assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0], call);
    }
    for (const [call, nth] of back) {
      const run = bothWays(ironic, [machineOf(more)]);
      await run.apply();
      idle(ironic, call, nth);
      const { skipped: left } = await run.rollback();
      const ids = [...ironic.nodes.keys(), ...ironic.ports.keys()];
      assert.equal(left.length, ids.length, `${call}, ${nth}: what is there is left`);
      if (call.startsWith("DELETE"))
        assert.match(left[0]?.reason ?? "", /its DELETE was accepted 3 times, but it still exists/);
      ironic.use(() => null);
      assert.deepEqual((await run.rollback()).skipped, []);
      assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0], call);
    }
  }
  const still = (verb: string, state: string) =>
    `${verb} was accepted 3 times, but it is still ${state}; its node is "${state}" in Ironic, asked 3 times`;
  const [manage, adopt, provide] = [
    still("manage", "enroll"),
    ...["adopt", "provide"].map((verb) => still(verb, "manageable")),
  ];
  assert.deepEqual(verbs, [manage, adopt, manage, provide]);
});
