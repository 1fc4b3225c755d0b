import assert from "node:assert/strict";
import { test } from "node:test";
import { instead } from "../support/faulty-service.ts";
import { macOf, uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, undone } from "./nova-expect.ts";
import { ID, OWN } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, type Scene, scene } from "./nova-ways.ts";
import { BROKEN, writes } from "./scene.ts";

const NO_PORT = instead(404, { NeutronError: { message: "gone" } });

test("what was begun with one port is not gone on with by another", async (t) => {
  const at = await begun(t, 2);
  const before = at.cloud.dump();
  const other = { ...at, hands: { ...at.hands, portsOf: () => [uuidOf(3, 9)] } };
  await forwardEnds(other, /started with port 3.*use the same ports/);
  assert.equal(at.cloud.dump(), before);
});

test("a way back that does not see a port of its journal says so, and is not at its end", async (t) => {
  const at = await begun(t);
  at.cloud.fail(/^GET \/v2.0\/ports\/3/, NO_PORT);
  // The second time nothing else of it is left.
  for (let times = 1; times <= 2; times += 1)
    await backEnds(at, /port 3.* was not restored: it is not visible in Neutron/);
  at.cloud.use(() => null);
  // It is somebody else's by then: its port alone is given back.
  const theirs = { image_source: "theirs" };
  const ours = at.cloud.node.instance_info;
  at.cloud.node.instance_info = theirs;
  const from = at.cloud.calls.length;
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.node.instance_info, theirs);
  const said = writes(at.cloud, from);
  assert.ok(said.length > 0 && said.every((call) => /^PUT .*ports/.test(call)), said.join());
  at.cloud.node.instance_info = ours ?? null;
  assert.equal(at.cloud.dump(), at.before);
});

test("a port that is asked for once its driver is exchanged is not left out without a word", async (t) => {
  const at = await begun(t, 5);
  const other = { ...at, hands: { ...at.hands, portsOf: () => [uuidOf(3, 1), uuidOf(3, 9)] } };
  await forwardEnds(other, /created without port 3\S+9: run rollback/);
  assert.equal(at.cloud.servers.size, 0);
  await undone(at);
});

test("a machine without a port gets a server without a network", async (t) => {
  const at = await scene(t);
  const alone = { ...at, hands: { ...at.hands, portsOf: () => [] } };
  assert.deepEqual(await forward(alone), []);
  await undone(at);
});

for (const lines of [1, 2, 5])
  test(`what was begun with one flavor or image is not gone on with by another: ${lines} lines`, async (t) => {
    const at = await begun(t, lines);
    const was = at.cloud.dump();
    const { requestedOf } = at.hands;
    for (const [wish, why] of [
      [{ flavor: "tin" }, /started with flavor gold: pass the same values, or it is rolled back/],
      [{ image: uuidOf(5, 9) }, /started with image 5\S+1: pass the same/],
      [{ image: null }, /started with image 5\S+1: pass the same/],
    ] as const) {
      const other: typeof requestedOf = (...words) => ({ ...requestedOf(...words), ...wish });
      const asked = { ...at, hands: { ...at.hands, requestedOf: other } };
      await forwardEnds(asked, why);
      assert.equal(at.cloud.dump(), was);
    }
    assert.deepEqual(await forward(at), []);
    await undone(at);
  });

const Q = uuidOf(3, 2);
/** What its user changes of its port. */
const SINCE = { dns_name: "new", "binding:profile": { local_link_information: ["rack 2"] } };

/** Its user lets Nova make a port, which Ironic attaches to another card. */
function addNetwork({ cloud: { servers, ports, network } }: Scene): () => void {
  const [id = ""] = servers.keys();
  const card = { internal_info: { tenant_vif_port_id: Q }, extra: {} };
  ports.set("q", { uuid: "q", node_uuid: ID, address: macOf(2), ...card });
  network.set(Q, { id: Q, mac_address: macOf(2), device_id: id, device_owner: "compute:nova" });
  return () => {
    network.delete(Q);
    ports.delete("q");
  };
}

const NOT_Q = /server 8\S+ now has port 3\S+2: detach it first \(openstack server remove port 8/;

test("a port that its server got since is not deleted with it: nothing is written before it is detached", async (t) => {
  const at = await begun(t);
  const detach = addNetwork(at);
  const [was, from] = [at.cloud.dump(), at.cloud.calls.length];
  for (let times = 1; times <= 2; times += 1) await backEnds(at, NOT_Q);
  assert.deepEqual([at.cloud.dump() === was, writes(at.cloud, from)], [true, []]);
  assert.equal((await machinesOf(at)).size, 1);
  detach();
  await undone(at);
});

const STAYS = /it stays on fake hardware, in maintenance$/;
const REMAINS = /it remains on fake hardware and in maintenance: do not change its driver/;

for (const [what, lines, when, fate] of [
  ["before a way back that begins on fake hardware", 7, /^GET \/v1\/$|^GET .*nodes/, STAYS],
  ["between the look and the end of its server", undefined, /reset_interfaces/, REMAINS],
] as const)
  test(`a port that its server gets ${what} is not deleted with it`, async (t) => {
    const at = await begun(t, lines);
    const { network, servers } = at.cloud;
    const [id = ""] = servers.keys();
    at.cloud.once(when, () => network.set(Q, { id: Q, device_id: id }));
    const why = (await back(at)).join();
    assert.match(why, NOT_Q);
    assert.match(why, fate);
    assertIs(at, "fake-hardware", true, 1);
    assert.equal(network.size, 2);
    at.cloud.use(() => null);
    network.delete(Q);
    await undone(at);
  });

for (const [what, device, named] of [
  ["took from", "", ""],
  ["gave to another than", uuidOf(8, 9), " \\(device 8\\S+9 has it\\)"],
] as const)
  test(`a port that its user ${what} its server is not given to the node before it is attached again`, async (t) => {
    const at = await begun(t);
    const { port, calls } = at.cloud;
    const attached = { ...port };
    Object.assign(port, { device_id: device, device_owner: "", "binding:host_id": "" });
    const [was, from] = [at.cloud.dump(), calls.length];
    const why = (await back(at)).join();
    assert.match(why, new RegExp(`8\\S+ no longer has port 3\\S+1${named}: attach it first`));
    assert.deepEqual([at.cloud.dump() === was, writes(at.cloud, from)], [true, []]);
    Object.assign(port, attached);
    await undone(at);
  });

test("what its user changed of the port of a server in service stays, before and after its way back", async (t) => {
  for (const lines of [11, undefined]) {
    const at = await scene(t);
    const { port, node } = at.cloud;
    const was = { ...port, ...SINCE, revision_number: 0 };
    // Killed while it was watched, or at its end.
    await forward(at, lines);
    const isMarked = Object.values(node.extra ?? {}).includes(OWN);
    assert.deepEqual([node.maintenance, isMarked], [false, lines !== undefined]);
    Object.assign(port, SINCE);
    assert.deepEqual(await forward(at), []);
    assert.deepEqual({ ...port, ...SINCE }, port);
    assert.deepEqual(await back(at), []);
    assert.deepEqual({ ...port, revision_number: 0 }, was);
    assert.deepEqual([(await machinesOf(at)).size, at.cloud.heard], [0, []]);
  }
});

test("what its user changed of a port stays, wherever the way back dies", async (t) => {
  /** A machine with its server, whose port its user changed, and what is to become of the port. */
  const changed = async () => {
    const at = await scene(t);
    const { port } = at.cloud;
    const was = { ...port, ...SINCE, revision_number: 0 };
    await forward(at);
    Object.assign(port, SINCE);
    const ends = async (what: string): Promise<void> => {
      assert.deepEqual(await back(at), []);
      assert.deepEqual({ ...port, revision_number: 0 }, was, what);
      assert.deepEqual([at.cloud.node.instance_uuid, at.cloud.heard], [null, []]);
    };
    return { at, ends };
  };
  let lines = 0;
  for (let wasWhole = false; !wasWhole; lines += 1) {
    const { at, ends } = await changed();
    assert.deepEqual(await back(at, lines), []);
    wasWhole = (await machinesOf(at)).size === 0;
    await ends(`died after ${lines} lines`);
  }
  assert.ok(lines > 3);
  // So it does amid its steps, behind the exchange and behind the end of its server.
  for (const call of [/^PATCH .*reset_interfaces/, /^DELETE \/servers/, /^PUT .*provision/]) {
    const { at, ends } = await changed();
    let dead = false;
    at.cloud.use((heard) => {
      const says = dead ? BROKEN : null;
      dead ||= call.test(heard);
      return says;
    });
    await back(at).catch(() => undefined);
    at.cloud.use(() => null);
    await ends(String(call));
  }
});

test("a login that does not see what Nova clears of a port is refused before anything is written", async (t) => {
  const at = await scene(t);
  const { port, calls } = at.cloud;
  const blind = (call: string) => {
    if (!/^GET \/v2.0\/ports\/3/.test(call)) return null;
    const shown = Object.entries(port).filter(([name]) => !name.startsWith("binding:"));
    return instead(200, { port: Object.fromEntries(shown) });
  };
  const why = /binding:host_id of port 3\S+1, which Nova clears, is not visible/;
  at.cloud.use(blind);
  await forwardEnds(at, why);
  assert.deepEqual([at.cloud.dump() === at.before, writes(at.cloud, 0)], [true, []]);
  // And a login that goes on what another began.
  at.cloud.use(() => null);
  await forward(at, 1);
  const from = calls.length;
  at.cloud.use(blind);
  await forwardEnds(at, why);
  assert.ok(writes(at.cloud, from).every((call) => !call.includes("/v2.0/")));
  at.cloud.use(() => null);
  await undone(at);
});
