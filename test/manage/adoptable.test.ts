import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { instead } from "../support/faulty-service.ts";
import { addBond, addCard, addRunning, inMemory, macOf, uuidOf } from "./in-memory.ts";
import { writes } from "./scene.ts";

/** Six nodes, of which the first and the last can be managed. @source facts/systems.md C-1 */
async function six(t: TestContext) {
  const cloud = await inMemory(t);
  addRunning(cloud, 1, { instance_info: { image_source: "an-image" } });
  addRunning(cloud, 2, { instance_uuid: uuidOf(9, 2) });
  addRunning(cloud, 3, { resource_class: null });
  addRunning(cloud, 4, { provision_state: "available" });
  addRunning(cloud, 5, { maintenance: true, maintenance_reason: "a fan" });
  addRunning(cloud, 6, { last_error: "a BMC was slow" });
  // By hand, before attaching wrote it elsewhere; a card without a tenant's port hangs in a bond.
  Object.assign(cloud.ports.get(uuidOf(2, 6)) ?? {}, { internal_info: {} });
  addBond(cloud, 6, { address: macOf(6), extra: { vif_port_id: uuidOf(3, 6) } });
  return cloud;
}

const list = ["node", "list", "--adoptable"] as const;

test("C-1: the list has active, free, classed nodes in service alone, with the ports Neutron has of them", async (t) => {
  const cloud = await six(t);
  const { out, err } = await runs(0, [...list, ...cloud.words, "-f", "json"], cloud.how);
  const rows = JSON.parse(out) as readonly { readonly [column: string]: unknown }[];
  assert.deepEqual(rows, [
    {
      ...{ UUID: uuidOf(1, 1), Name: "n-1", "Power State": "power on" },
      ...{ "Provision State": "active", Image: "an-image", "Resource Class": "gold" },
      Ports: `${macOf(1)} ${uuidOf(3, 1)}`,
    },
    {
      ...{ UUID: uuidOf(1, 6), Name: "n-6", "Power State": "power on" },
      ...{ "Provision State": "active", Image: null, "Resource Class": "gold" },
      Ports: `${macOf(6)}, ${macOf(6)} ${uuidOf(3, 6)}`,
    },
  ]);
  assert.match(err, /1 machine has a last error in Ironic: n-6\./);
});

test("a port that Neutron has not, or has otherwise, keeps its node from the list", async (t) => {
  const cloud = await inMemory(t);
  for (const at of [1, 2, 3, 4, 5]) addRunning(cloud, at);
  cloud.network.delete(uuidOf(3, 1));
  Object.assign(cloud.network.get(uuidOf(3, 2)) ?? {}, { mac_address: macOf(99) });
  const taken = { device_id: "a-server", device_owner: "compute:nova" };
  Object.assign(cloud.network.get(uuidOf(3, 3)) ?? {}, taken);
  addCard(cloud, uuidOf(1, 4), 44, { extra: { vif_port_id: uuidOf(3, 5) } });
  const words = [...list, "--all", ...cloud.words, "-f", "value", "-c", "Why not"];
  const { out } = await runs(0, words, cloud.how);
  const twice = `VIF ${uuidOf(3, 5)} is attached to more than one port`;
  assert.deepEqual(out.trimEnd().split("\n"), [
    `VIF ${uuidOf(3, 1)} is not in Neutron`,
    `VIF ${uuidOf(3, 2)} has MAC ${macOf(99)}, but the node has ${macOf(2)}`,
    `VIF ${uuidOf(3, 3)} belongs to compute:nova a-server`,
    `${twice}; VIF ${uuidOf(3, 5)} has MAC ${macOf(5)}, but the node has ${macOf(4)}, ${macOf(44)}`,
    twice,
  ]);
  const alone = await runs(0, words);
  assert.match(alone.out, /^VIF \S+ cannot be read: no endpoint of Neutron is known$/m);
});

test("2,500 nodes with cards and bonds are listed by four listings' worth of calls", async (t) => {
  const cloud = await inMemory(t);
  const nodes = 2500;
  for (let at = 1; at <= nodes; at += 1) {
    addRunning(cloud, at);
    addBond(cloud, at);
  }
  const { out } = await runs(0, [...list, ...cloud.words, "-f", "value", "-c", "UUID"], cloud.how);
  assert.equal(new Set(out.trimEnd().split("\n")).size, nodes);
  const asked = cloud.calls.map((call) => new URL(call.split(" ")[1] ?? "", "http://c").pathname);
  const paths = ["/v1/ports", "/v1/portgroups", "/v2.0/ports", "/v1/nodes"];
  const counts = paths.map((path) => asked.filter((one) => one === path).length);
  // The first of nodes greets; one in every detail takes more room than a card.
  const [pages, more] = [3, Math.ceil(nodes / 400)];
  assert.deepEqual(counts, [pages, pages, pages, more + 1]);
  assert.equal(asked.length, 3 * pages + more + 2, "and one for the versions");
  assert.deepEqual(writes(cloud), []);
  // Ironic leaves out what it can.
  const pagesOfNodes = cloud.calls.filter((call) => /nodes\?.*limit=400/.test(call));
  const chosen = /&detail=true&provision_state=active&associated=false&maintenance=false/;
  assert.equal(pagesOfNodes.length, more);
  assert.ok(pagesOfNodes.every((call) => chosen.test(call)));
});

test("a list that breaks off is refused", async (t) => {
  const cloud = await six(t);
  cloud.fail(/\/v1\/nodes\?limit=400/, instead(404, { error_message: "no such marker" }));
  const why = /404 for \/v1\/nodes with microversion \S+: the API does not have this resource\.$/m;
  assertRefusal(await run([...list, ...cloud.words], cloud.how), 1, "N2I-E212", why);
});

test("a login that nobody told of, and one without its Keystone, are told what is missing", async (t) => {
  const cloud = await six(t);
  const how = [/OS_AUTH_URL is not set, and no cloud is specified/, /Fix: .*--os-cloud NAME/];
  assertRefusal(await run(list), 64, "N2I-E106", ...how);
  // A password is there to be sent somewhere: Ironic is not asked without a token.
  const env = { OS_USERNAME: "admin", OS_PASSWORD: "secret" };
  const ran = await run([...list, ...cloud.words], { env });
  assertRefusal(ran, 64, "N2I-E106", /OS_\*: auth_url is missing/);
  assert.deepEqual(cloud.calls, []);
});

test("a list without a machine says so, and what may hide them", async (t) => {
  const cloud = await six(t);
  cloud.fail(/\/v1\/nodes\?/, instead(200, { nodes: [] }));
  const listed = await runs(0, [...list, ...cloud.words], cloud.how);
  assert.match(listed.err, /^0 machines\. A project's login sees .*\. --all also lists/m);
});
