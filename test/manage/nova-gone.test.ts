import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { uuidOf } from "./in-memory.ts";
import { assertIs, forwardEnds } from "./nova-expect.ts";
import { ID, OWN, RIVAL } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, type Scene, scene, watched } from "./nova-ways.ts";
import { BROKEN, writes } from "./scene.ts";

type Print = typeof back;

const NEXT = { "the same command": [forward, back], rollback: [back] } as const;

const SINCE: { readonly [what: string]: JsonObject } = {
  "another's": { instance_uuid: RIVAL, instance_info: { image_source: "theirs", traits: [] } },
  "nobody's": { instance_uuid: null, provision_state: "available", instance_info: {} },
  "adopted anew": { instance_uuid: null, instance_info: { traits: [] } },
};

/** Dies on the way there, or back, once its machine is in service again and before its mark is gone. */
async function diedInService(at: Scene, words: readonly Print[]): Promise<void> {
  const { node, servers } = at.cloud;
  let dead = false;
  at.cloud.use((call) => {
    const isLast = words.length === 1 || servers.size === 0;
    const isMarked = node.driver === "ipmi" && Object.keys(node.extra ?? {}).length > 1;
    dead ||= isLast && isMarked && ENDED.test(call);
    return dead && !ENDED.test(call) ? BROKEN : null;
  });
  for (const say of words) await say(at).catch(() => undefined);
  assert.ok(dead);
  at.cloud.use(() => null);
  assert.ok(Object.values(node.extra ?? {}).includes(OWN));
  assertIs(at, "ipmi", false);
}

const ENDED = /^DELETE .*maintenance$/;

for (const [what, fields] of Object.entries(SINCE))
  for (const [died, dying] of Object.entries({ "way there": [forward], rollback: [forward, back] }))
    for (const [next, words] of Object.entries(NEXT))
      test(`a machine that lost its server after a ${died} that died loses the mark alone: ${what}, ${next}`, async (t) => {
        for (const isPort of next === "rollback" ? [true] : [true, false]) {
          const whole = await scene(t);
          const portsOf = isPort ? whole.hands.portsOf : () => [];
          const at = { ...whole, hands: { ...whole.hands, portsOf } };
          const { node, port, servers, calls } = at.cloud;
          node.instance_info = { ...(node.instance_info as object), traits: ["CUSTOM_A"] };
          await diedInService(at, dying);
          servers.clear();
          Object.assign(node, fields);
          if (isPort) Object.assign(port, { device_id: "", device_owner: "" });
          const [before, from] = [JSON.stringify(node), calls.length];
          for (const say of words) {
            const why = (await say(at)).join();
            assert.match(why, say === forward ? /^it no longer has server 8\S+$/ : /^$/);
          }
          assert.deepEqual(node.extra, { rack: 1 });
          const extra = { rack: 1, nova2ironic_manage: OWN };
          assert.equal(JSON.stringify({ ...node, extra }), before);
          // Whoever else has it would be given the network of a port that was bound to it again.
          const bound = what === "adopted anew" ? "PUT /v2.0/ports" : "none";
          const said = writes(at.cloud, from).filter((call) => !call.startsWith(bound));
          assert.deepEqual(said, [`PATCH /v1/nodes/${ID}`]);
          assert.equal((await machinesOf(at)).size, 0);
        }
      });

test("a machine whose server its user deletes while it is watched is not held, and loses the mark alone", async (t) => {
  const at = await scene(t);
  const { node, servers } = at.cloud;
  at.cloud.once(
    (call) => ENDED.test(call) && node.driver === "ipmi",
    () => {
      servers.clear();
      Object.assign(node, SINCE["another's"]);
    },
  );
  await forwardEnds(watched(at), /no longer has server 8\S+; it is not held/);
  assert.deepEqual([node.maintenance, node.instance_uuid], [false, RIVAL]);
  await back(at);
  assert.deepEqual([node.maintenance, node.extra], [false, { rack: 1 }]);
});

test("a server that its user deletes while it is held for a change of his leaves a machine that is let go", async (t) => {
  for (const words of Object.values(NEXT)) {
    const at = await scene(t);
    const { node, port, servers } = at.cloud;
    at.cloud.use((call) => {
      const [server] = servers.values();
      const isOut = node.driver === "ipmi" && node.maintenance === false && server !== undefined;
      if (isOut && call === `GET /v1/nodes/${ID}`) {
        node.power_state = "power off";
        server.status = "SHUTOFF";
      }
    });
    await forwardEnds(at, /power_state is power off.*it is held/);
    at.cloud.use(() => null);
    servers.clear();
    Object.assign(node, { instance_uuid: null, provision_state: "available", instance_info: {} });
    Object.assign(port, { device_id: "", device_owner: "", "binding:host_id": "" });
    const was = JSON.stringify(port);
    for (const say of words) {
      const why = (await say(at)).join();
      assert.match(why, say === forward ? /it no longer has server/ : /^$/);
    }
    assert.deepEqual([node.maintenance, node.extra], [false, { rack: 1 }]);
    assert.equal(JSON.stringify(port), was);
    assert.equal((await machinesOf(at)).size, 0);
    // Nova and a conductor follow what its user did.
    at.cloud.heard.splice(0);
  }
});

test("a run whose end is recorded makes nothing anew of a machine that lost its server", async (t) => {
  const at = await begun(t);
  const { node, port, servers } = at.cloud;
  servers.clear();
  Object.assign(node, { instance_uuid: null, instance_info: { image_source: uuidOf(5, 1) } });
  const theirs = { "binding:profile": { mine: 1 }, dns_name: "new" };
  Object.assign(port, { device_id: "", device_owner: "", ...theirs });
  const [before, from] = [at.cloud.dump(), at.cloud.calls.length];
  await forwardEnds(at, /no longer has server 8\S+: run node unmanage \S+, then manage it again/);
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(writes(at.cloud, from), []);
  assert.deepEqual(await forward({ ...at, mark: uuidOf(7, 2) }), []);
  assert.deepEqual([port.dns_name, port["binding:profile"]], ["new", { mine: 1 }]);
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.dump(), before);
});
