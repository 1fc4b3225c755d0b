import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { instead, isWrite } from "../support/faulty-service.ts";
import { uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, serverIn, undone } from "./nova-expect.ts";
import { ID, type NovaInMemory, OWN, RIVAL } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, type Scene, scene, watched } from "./nova-ways.ts";
import { BROKEN, DOWN, writes } from "./scene.ts";

/** Lines of a way there until its server is made, and until its hardware is to be exchanged back. */
const [MADE, TURNED] = [7, 8];

test("its server is not deleted once its real driver is back, at no try", async (t) => {
  const at = await begun(t);
  let faked = false;
  at.cloud.use((call) => {
    faked ||= call.includes("reset_interfaces");
    // Between the look at its hardware and the word to Nova.
    if (faked && call.startsWith("GET /servers/")) at.cloud.node.driver = "ipmi";
  });
  await backEnds(at, /not completely on fake hardware: driver is ipmi/);
  assert.ok(faked);
  assertIs(at, "ipmi", true, 1);
});

/** What is going on with a machine that has its server, by fields of its node or otherwise, and why it is not taken. */
const BUSY: readonly (readonly [string, JsonObject | ((cloud: NovaInMemory) => void), RegExp])[] = [
  [
    "Nova works with its server",
    (cloud) => Object.assign(serverIn(cloud), { "OS-EXT-STS:task_state": "rebuilding" }),
    /Nova is still working on server .* \(rebuilding\): run rollback again when it is done/,
  ],
  [
    "its server is locked",
    (cloud) => Object.assign(serverIn(cloud), { locked: true }),
    /server .* is locked: unlock it first/,
  ],
  [
    "it is being deployed anew",
    { provision_state: "wait call-back" },
    /it is wait call-back, but the run left it active/,
  ],
  ["it is rescued", { provision_state: "rescue" }, /it is rescue, but the run left it active/],
  [
    "it was deployed anew, with another image",
    { instance_info: { image_source: uuidOf(5, 2) } },
    /instance_info.image_source has changed/,
  ],
  [
    "its console is on",
    { console_enabled: true },
    /its console is enabled, so Ironic cannot change its driver: disable the console first/,
  ],
  [
    "somebody has it in maintenance",
    { maintenance: true, maintenance_reason: "new disk" },
    /it is in maintenance, which this run did not set: new disk; end it first/,
  ],
  [
    "Ironic has it in maintenance, for no reason that it tells",
    { maintenance: true },
    /it is in maintenance, which this run did not set: no reason given; end it first/,
  ],
  [
    "it has volumes by now",
    ({ targets }) => targets.set("t", { uuid: "t", node_uuid: ID }),
    /it now has volume targets, which Nova would delete with the server: delete them first/,
  ],
  [
    "this login does not see its server",
    ({ servers }) => servers.clear(),
    /this server is not visible in Nova .* nova-compute undeploys the machine when it starts/,
  ],
];

for (const [what, does, why] of BUSY)
  test(`a machine with its server is left alone on its way back: ${what}`, async (t) => {
    const at = await begun(t);
    if (typeof does === "function") does(at.cloud);
    else Object.assign(at.cloud.node, does);
    const before = at.cloud.dump();
    const since = at.cloud.calls.length;
    await backEnds(at, why);
    assert.deepEqual(at.cloud.calls.slice(since).filter(isWrite), []);
    assert.equal(at.cloud.dump(), before);
  });

test("a machine whose server was deleted while no nova-compute ran is not to be undeployed: it stays as is said", async (t) => {
  const at = await scene(t);
  const before = JSON.stringify(at.cloud.port);
  await forward(at);
  const { node, port, servers } = at.cloud;
  // As Nova's API does it alone.
  servers.clear();
  Object.assign(port, { device_id: "", device_owner: "", "binding:host_id": "" });
  node.maintenance = true;
  const why = (await back(at)).join();
  assert.match(why, /powers the machine off and wipes it, also in maintenance: to keep the mach/);
  assert.match(why, new RegExp(`first unset its instance_uuid .*--instance-uuid ${ID}\\)`));
  assert.doesNotMatch(why, /start nova-compute/);
  Object.assign(node, { instance_uuid: null, maintenance: false });
  assert.deepEqual(await back(at), []);
  assert.equal(JSON.stringify({ ...port, revision_number: 1 }), before);
  assertIs(at, "ipmi", false);
  assert.equal(node.provision_state, "active");
});

test("on fake hardware nova-compute may finish the deletion of a server", async (t) => {
  const at = await begun(t, MADE + 1);
  at.cloud.servers.clear();
  await backEnds(
    at,
    /start nova-compute so that it finishes the deletion; it stays on fake hardware, in maint/,
  );
});

/** A run that died on fake hardware, and somebody who takes everything off that says so. */
async function forgotten(t: TestContext): Promise<Scene> {
  const at = await begun(t, TURNED);
  Object.assign(at.cloud.node, {
    ...{ extra: { rack: 1 }, maintenance: false, maintenance_reason: null },
  });
  assertIs(at, "fake-hardware", false);
  return at;
}

test("what stands on fake hardware is not done, whoever took its mark off", async (t) => {
  const at = await forgotten(t);
  assert.deepEqual(await forward(at), []);
  assertIs(at, "ipmi", false);
  await undone(at);
});

test("what stands on fake hardware without its server is taken back, whoever took its mark off", async (t) => {
  const at = await forgotten(t);
  at.cloud.servers.clear();
  Object.assign(at.cloud.node, { provision_state: "available", instance_uuid: null });
  Object.assign(at.cloud.port, { device_id: "" });
  await undone(at);
});

test("a server that Nova deletes only later is ended now, or it would end the machine", async (t) => {
  const at = await begun(t);
  at.cloud.rules.softly = true;
  await undone(at);
});

/** Nova makes a second server by the same word, of a call that came late. */
function late({ cloud }: Scene): () => void {
  const { metadata = null } = serverIn(cloud);
  const server = { id: "late", status: "ERROR", metadata, fault: {} };
  return () => void cloud.servers.set("late", server);
}

test("a second server by the same word, of a call that came late, goes too", async (t) => {
  const at = await begun(t, MADE);
  late(at)();
  await undone(at);
});

test("a server by the same word that comes right before its driver is back keeps the driver away", async (t) => {
  const at = await begun(t, MADE);
  const isLast = (call: string): boolean =>
    /^PUT .*provision$/.test(call) && at.cloud.node.provision_state === "manageable";
  at.cloud.once(isLast, late(at));
  await backEnds(at, /server late still exists; it stays on fake/);
  assertIs(at, "fake-hardware", true);
  at.cloud.use(() => null);
  await undone(at);
});

test("a server by the same word that comes once its driver is back is ended on fake hardware", async (t) => {
  const at = await begun(t);
  const comes = late(at);
  const { node, servers } = at.cloud;
  const isLast = (call: string): boolean =>
    /^DELETE .*maintenance/.test(call) && node.driver === "ipmi" && servers.size === 0;
  at.cloud.fail(isLast, DOWN);
  await assert.rejects(back(at), { code: "N2I-E210" });
  assertIs(at, "ipmi", true);
  comes();
  at.cloud.use((call) => {
    if (call.startsWith("DELETE /servers")) assert.equal(node.driver, "fake-hardware");
  });
  await undone(at);
});

test("a server that cannot be deleted keeps its machine on fake hardware, and it is said what not to do", async (t) => {
  const at = await begun(t);
  at.cloud.fail(/^DELETE \/servers/, BROKEN);
  await assert.rejects(back(at), { code: "N2I-E210" });
  assertIs(at, "fake-hardware", true);
  at.cloud.fail(/^DELETE \/servers/, instead(400, { e: { message: "not today" } }));
  await backEnds(at, /do not change its driver until rollback has finished/);
});

test("a port that Neutron does not bind again is told, on both ways", async (t) => {
  const at = await scene(t);
  at.cloud.rules.unbound = true;
  const why = /Neutron does not bind port .* again: binding:vif_type is binding_failed/;
  await forwardEnds(at, why);
  assert.equal(at.cloud.node.maintenance, true);
  await backEnds(at, why);
  delete at.cloud.rules.unbound;
});

test("a machine that is protected, and leased, is so again", async (t) => {
  const at = await scene(t);
  const own = { protected: true, protected_reason: "a bank", lessee: "p" };
  Object.assign(at.cloud.node, own);
  const before = at.cloud.dump();
  assert.deepEqual(await forward(at), []);
  assert.deepEqual({ ...at.cloud.node, ...own }, at.cloud.node);
  await undone({ ...at, before });
});

test("whoever was given it before it was held, and is still to come, meets no real driver", async (t) => {
  const at = await begun(t, MADE);
  let looks = 0;
  at.cloud.use((call) => {
    if (!call.endsWith("/allocations") || at.cloud.servers.size > 0) return null;
    looks += 1;
    // Scheduled before the maintenance; its nova-compute comes to it now.
    if (looks === 3) at.cloud.node.instance_uuid = RIVAL;
    return instead(200, { allocations: looks < 3 ? { [RIVAL]: {} } : {} });
  });
  await backEnds(at, new RegExp(`has instance ${RIVAL}`));
  assertIs(at, "fake-hardware", true);
});

test("a node that Nova still offers gets no real driver back", async (t) => {
  const at = await begun(t, MADE);
  const inventories = { CUSTOM_GOLD: { total: 1, reserved: 0 } };
  at.cloud.fail(/\/inventories$/, instead(200, { inventories }));
  await backEnds(at, /Nova still offers it.*do not change its driver/);
  assertIs(at, "fake-hardware", true);
  at.cloud.use(() => null);
  await undone(at);
});

test("a server that is being built is not deleted before its nova-compute is done", async (t) => {
  const at = await begun(t, MADE);
  const own = serverIn(at.cloud);
  Object.assign(own, { status: "BUILD", "OS-EXT-STS:task_state": "spawning" });
  let looks = 0;
  at.cloud.use((call) => {
    if (/^DELETE .servers/.test(call)) assert.equal(own.status, "ACTIVE");
    if (/^GET .servers/.test(call)) looks += 1;
    if (looks === 5) Object.assign(own, { status: "ACTIVE", "OS-EXT-STS:task_state": null });
  });
  await undone(at);
  assert.ok(looks > 5);
});

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
