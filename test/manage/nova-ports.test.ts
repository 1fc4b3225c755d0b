import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Fault, instead, isWrite } from "../support/faulty-service.ts";
import { macOf, uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, serverIn, undone } from "./nova-expect.ts";
import { HIDDEN, ID, type NovaInMemory, OWN } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, type Scene, scene, withRun } from "./nova-ways.ts";
import { BROKEN, LOST, REFUSED, writes } from "./scene.ts";

const COPY = uuidOf(6, 1);
const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";
/** Lines of a way there until Nova was asked for its server, and the server's uuid not known. */
const ASKED = 6;

/** Somebody's server, made of ours with its metadata, and listed before it. */
function copied({ servers }: NovaInMemory, fields: JsonObject): void {
  const ours = [...servers.values()].filter(({ id }) => id !== COPY);
  servers.clear();
  const copy = {
    ...{ id: COPY, name: "theirs", status: "ACTIVE", "OS-EXT-STS:task_state": null },
    ...{ metadata: { nova2ironic_manage: OWN }, [NODE]: uuidOf(1, 9), fault: {} },
  };
  servers.set(COPY, { ...copy, ...fields });
  for (const one of ours) servers.set(String(one.id), one);
}

const deleted = ({ calls }: NovaInMemory): readonly string[] =>
  calls.filter((call) => call === `DELETE /servers/${COPY}` || call.includes(`${COPY}/action`));

async function besideCopy(t: TestContext, lines: number | undefined, fields: JsonObject) {
  const at = await begun(t, lines);
  copied(at.cloud, fields);
  return { at, why: (await back(at)).join() };
}

for (const lines of [undefined, ASKED])
  for (const status of ["ACTIVE", "SHUTOFF", "ERROR", "BUILD"])
    test(`a server of another node with the same metadata is nobody's to delete: ${status}, ${lines ?? "all"} lines`, async (t) => {
      const { at, why } = await besideCopy(t, lines, { status });
      assert.equal(why, "");
      assert.deepEqual([[...at.cloud.servers.keys()], deleted(at.cloud)], [[COPY], []]);
      at.cloud.servers.clear();
      assert.equal(at.cloud.dump(), at.before);
    });

for (const status of ["ACTIVE", "SHUTOFF", "SOFT_DELETED", "ERROR", "BUILD"])
  test(`a server with the same metadata whose node this login does not see is left, and named: ${status}`, async (t) => {
    const { at, why } = await besideCopy(t, undefined, { status, [NODE]: HIDDEN });
    assert.match(
      why,
      /server 6\S+1 .*its node is not visible with these credentials: use .*If the server is a copy, remove/,
    );
    assert.match(why, /it remains on fake hardware and in maintenance/);
    assert.deepEqual([[...at.cloud.servers.keys()], deleted(at.cloud)], [[COPY], []]);
  });

test("its own server is known by Ironic's instance where this login does not see its node", async (t) => {
  const at = await begun(t, ASKED);
  serverIn(at.cloud)[NODE] = null;
  await undone(at);
});

test("its own server that is on another node by now is left, and named", async (t) => {
  const at = await begun(t);
  serverIn(at.cloud)[NODE] = uuidOf(1, 9);
  await backEnds(at, /server 8\S+ is now on node 1\S+9/);
  assert.equal(at.cloud.servers.size, 1);
});

test("a server of a call that came late is told of, and its rollback ends it", async (t) => {
  const at = await scene(t);
  let posts = 0;
  at.cloud.use((call) => {
    if (call !== "POST /servers") return null;
    posts += 1;
    if (posts === 1) return instead(504, "gateway");
    copied(at.cloud, { status: "ERROR", [NODE]: null });
    return null;
  });
  assert.deepEqual(await forward(at), [
    `Nova also created server ${COPY}, in ERROR, without a node: delete it`,
  ]);
  assert.equal(at.cloud.servers.size, 2);
  await undone(at);
});

test("a run that goes on takes nobody's copy for its own server", async (t) => {
  const at = await scene(t);
  // It dies before Nova is asked, and its word is copied all the same.
  at.cloud.fail("POST /servers", BROKEN);
  await assert.rejects(forward(at));
  at.cloud.use(() => null);
  copied(at.cloud, {});
  assert.deepEqual(await forward(at), []);
  assert.equal(at.cloud.servers.size, 2);
  assert.notEqual(at.cloud.node.instance_uuid, COPY);
  assert.deepEqual(await back(at), []);
  assert.deepEqual([...at.cloud.servers.keys()], [COPY]);
  at.cloud.servers.clear();
  assert.equal(at.cloud.dump(), at.before);
});

const FAILED = instead(500, { error_message: "a fault" });

/** Of a way there, at the least: whoever makes fewer does not come to its end. */
const LEAST = { calls: 69, writes: 13 };

/** Fails the `nth` call, once; of questions an answer that is lost is as good as none. */
function failAt({ cloud }: Scene, nth: number, fault: Fault): () => boolean {
  const came = cloud.fail(fault === LOST ? isWrite : /./, fault, nth);
  return () => came() >= nth;
}

/** What passes is one fault to who asks, broken or failed: each call meets one of them. */
const PASSING = (nth: number): Fault => (nth % 2 === 0 ? BROKEN : FAILED);

for (const [what, fault] of [
  ["its answer is lost", LOST],
  ["it is refused", REFUSED],
] as const)
  test(`C-8: after each failed call a machine is unchanged or has its server: ${what}`, async (t) => {
    // Off in Ironic's book once it is deployed: Nova stops its server and starts it, too.
    const at = await scene(t, { forgets: true });
    let most = 0;
    for (let nth = 1, came = true; came; nth += 1) {
      most = nth;
      const own = await withRun(t, at);
      const hasCome = failAt(at, nth, fault);
      const why = await forward(own).catch((cause: unknown) => [String(cause)]);
      came = hasCome();
      const called = `${String(nth)}: ${String(at.cloud.calls.at(-1))}: ${why.join()}`;
      at.cloud.use(() => null);
      const { node } = at.cloud;
      if (why.length === 0) assertIs(at, "ipmi", false, 1);
      else assert.ok(node.driver === "ipmi" || node.maintenance === true, called);
      await undone(own, called);
    }
    t.diagnostic(`${most - 1} calls`);
    assert.ok(most > LEAST[fault === LOST ? "writes" : "calls"], `${most - 1} calls`);
  });

test("any call of its way back that fails is made up for by the next, and the machine hears nothing", async (t) => {
  const at = await scene(t);
  for (let nth = 1, came = true; came; nth += 1) {
    const own = await withRun(t, at);
    await forward(own);
    const hasCome = failAt(at, nth, PASSING(nth));
    await back(own).catch(() => undefined);
    came = hasCome();
    at.cloud.use(() => null);
    const { node } = at.cloud;
    assert.ok(node.driver === "ipmi" || node.maintenance === true, String(nth));
    await undone(own, String(nth));
  }
});

test("what stood in instance_info and is lost in the exchange keeps its machine on fake hardware", async (t) => {
  const at = await scene(t);
  let swaps = false;
  at.cloud.use((call) => {
    // Somebody clears it as soon as the change back was heard.
    if (swaps) at.cloud.node.instance_info = { image_source: uuidOf(5, 1) };
    swaps = call.startsWith("PATCH") && !call.includes("reset") && at.cloud.servers.size > 0;
  });
  await forwardEnds(at, /instance_info.root_gb has changed/);
  assert.equal(at.cloud.node.maintenance, true);
});

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
