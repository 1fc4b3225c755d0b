import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerTo, requestHeads } from "../support/request-heads.ts";
import { holdsLater } from "../support/seeded.ts";
import { proxyScene } from "./scene.ts";
import { nodeOf, PROJECT, uuidOf } from "./stand-ins.ts";

const BASE = "/v2.1/os-baremetal-nodes";
const FIELDS = "fields=uuid,provision_state,properties";

/**
 * These members are the columns that Juno's client prints, and it has no path for interfaces: it reads them from
 * the node that is shown, and fails on a list without this member.
 *
 * @source python-novaclient@2.18.0, 2.20.0 novaclient/v1_1/contrib/baremetal.py list_interfaces, _find_baremetal_node
 */
function listed(at: number): object {
  const sizes = { cpus: 4, memory_mb: 4096, disk_gb: 40 };
  return { id: uuidOf(at), interfaces: [], host: "IRONIC MANAGED", task_state: "active", ...sizes };
}

function fault(status: number, word: string, message: string): object {
  return { [word]: { code: status, message } };
}

test("an administrator lists and shows, and Ironic sees his own token and nothing else", async (t) => {
  const { ask, calls, ironic, keystone, said, proxy, served } = await proxyScene(t, 3);
  assert.deepEqual(said, [
    `listening on ${proxy.url}, Ironic ${ironic.url} 1.1-1.82, policy Nova's own (role:admin)`,
  ]);
  const list = await ask(`GET ${BASE}`);
  assert.deepEqual([list.status, list.body], [200, { nodes: [1, 2, 3].map(listed) }]);
  const tokens = ironic.calls.map(({ fields }) => fields["x-auth-token"]);
  assert.deepEqual(tokens, ["admin"]);
  assert.deepEqual(calls(), [`/v1/nodes?${FIELDS}`]);
  assert.deepEqual((await ask(`GET ${BASE}`)).body, list.body);
  assert.deepEqual(calls(), [`/v1/nodes?${FIELDS}`], "what is known is not asked for again");
  const show = await ask(`GET /v2/${PROJECT}/os-baremetal-nodes/${uuidOf(2)}?a=b`);
  const interfaces = [{ address: "52:54:00:00:00:00" }];
  const node = { ...listed(2), interfaces, instance_uuid: null };
  assert.deepEqual([show.status, show.body], [200, { node }]);
  const ports = `/v1/ports?node=${uuidOf(2)}&fields=address`;
  assert.deepEqual(calls(), [`/v1/nodes/${uuidOf(2)}?${FIELDS},instance_uuid`, ports]);
  const named = await ask(`GET ${BASE}/node-2`);
  assert.deepEqual([named.status, named.body], [200, { node }]);
  assert.deepEqual(calls(), [`/v1/nodes/node-2?${FIELDS},instance_uuid`, ports]);
  assert.deepEqual(keystone.asked, ["admin"], "Keystone was asked once");
  const lines = served.map(({ path, status, calls: made }) => `${path} ${status} ${made}`);
  assert.deepEqual(lines, [
    ...[`${BASE} 200 2`, `${BASE} 200 1`],
    `/v2/${PROJECT}/os-baremetal-nodes/${uuidOf(2)} 200 2`,
    `${BASE}/node-2 200 2`,
  ]);
  const options = await ask(`OPTIONS ${BASE}`);
  assert.deepEqual([options.status, options.body], [200, ""]);
  const unknown = await ask(`GET ${BASE}/${uuidOf(9)}`);
  const message = `Node ${uuidOf(9)} could not be found.`;
  assert.deepEqual([unknown.status, unknown.body], [404, fault(404, "itemNotFound", message)]);
});

test("what is refused here reaches Ironic with no call", async (t) => {
  const { ask, calls, keystone } = await proxyScene(t, 1);
  const nobody = await ask(`GET ${BASE}`, null);
  const message = "The request you have made requires authentication.";
  const error = { code: 401, title: "Unauthorized", message };
  assert.deepEqual([nobody.status, nobody.body], [401, { error }]);
  assert.equal(nobody.fields.get("www-authenticate"), `Keystone uri="${keystone.url}"`);
  for (const token of ["unknown", "", "a b", "x".repeat(9000)])
    assert.equal((await ask(`GET ${BASE}`, token)).status, 401);
  assert.deepEqual(keystone.asked, ["unknown"]);
  const member = await ask(`GET ${BASE}`, "member");
  assert.equal(member.status, 403);
  const gone = fault(404, "itemNotFound", "The resource could not be found.");
  for (const token of ["admin", "member"]) {
    const answer = await ask(`POST ${BASE}`, token, { body: '{"node": {}}' });
    assert.deepEqual([answer.status, answer.body], [404, gone]);
  }
  assert.equal((await ask(`POST ${BASE}`, null)).status, 401);
  assert.deepEqual(calls(), []);
});

test("with --nova-compat what writes is refused in Nova's words, and reaches Ironic with no call", async (t) => {
  const { ask, calls } = await proxyScene(t, 1, () => ({ novaCompat: true }));
  const answer = await ask(`POST ${BASE}`, "member", { body: "{}" });
  assert.equal(answer.status, 400);
  assert.match(JSON.stringify(answer.body), /Please use Ironic command node-create/);
  assert.deepEqual(calls(), []);
});

test("all pages are listed, whatever their size, and 2,000 ports are shown", async (t) => {
  const { ask, ironic } = await proxyScene(t, 2500);
  ironic.ports = 2000;
  for (const page of [1000, 7, 2500]) {
    ironic.page = page;
    const { body } = await ask(`GET ${BASE}`);
    assert.deepEqual(body, { nodes: ironic.nodes.map((_, at) => listed(at + 1)) }, `${page}`);
  }
  ironic.page = 1000;
  const { body } = await ask(`GET ${BASE}/${uuidOf(1)}`);
  const { interfaces } = (body as { readonly node: { readonly interfaces: readonly object[] } })
    .node;
  assert.equal(interfaces.length, 2000);
  assert.equal(new Set(interfaces.map((one) => JSON.stringify(one))).size, 2000);
});

test("nodes that are deleted and made while they are listed take no other with them", async (t) => {
  const { ask, ironic } = await proxyScene(t, 40);
  ironic.page = 10;
  let pages = 0;
  ironic.before = (path) => {
    if (!path.includes("/nodes")) return;
    pages += 1;
    // The node that the next page is to be asked behind, and one in the middle.
    if (pages === 2) ironic.nodes.splice(9, 1);
    if (pages === 4) ironic.nodes.splice(15, 1);
    if (pages === 4) ironic.nodes.push(nodeOf(41));
  };
  const { body } = await ask(`GET ${BASE}`);
  const { nodes } = body as { readonly nodes: readonly { readonly id: string }[] };
  const ids = nodes.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "none twice");
  for (const { uuid } of ironic.nodes) assert.ok(ids.includes(String(uuid)), String(uuid));
});

test("hostile properties are told as JSON, and nothing of them is read as more", async (t) => {
  const { ask, ironic } = await proxyScene(t, 0);
  const text = '"}]}\u0000\u2028</script>\ud800';
  const properties = { cpus: text, memory_mb: { a: 1 } };
  ironic.nodes.push({ ...nodeOf(1), provision_state: text, properties });
  const { body } = await ask(`GET ${BASE}`);
  const told = { ...listed(1), task_state: text, cpus: text, memory_mb: 0, disk_gb: 0 };
  assert.deepEqual(body, { nodes: [told] });
  ironic.nodes.length = 0;
  assert.deepEqual((await ask(`GET ${BASE}`)).body, { nodes: [] });
});

const LIST = "/v2.1/os-baremetal-nodes";
const STATUS = /^HTTP\/1\.1 (\d{3}) /;
/** All that the proxy asks an Ironic for. */
const ASKED =
  /^\/v1\/(nodes\?fields=[a-z_,]+(&marker=[0-9a-f-]{36})?|nodes\/[A-Za-z0-9._~-]{1,255}\?fields=[a-z_,]+|ports\?node=[0-9a-f-]{36}&fields=address)$/;
/** Turns: an answer needs fewer. */
const PATIENCE = 200;
/** Heads of one run, sent at once. */
const TOGETHER = 20;

test("whatever is sent, what comes back is an answer, and Ironic is asked for nothing else", async (t) => {
  const { ask, calls, proxy } = await proxyScene(t, 3);
  const paths = [LIST, `/v2/os-baremetal-nodes/${uuidOf(2)}`, `${LIST}/node-1`, "/v2.1/servers"];
  let [answered, listed] = [0, 0];
  const heads = fc.array(requestHeads(paths), { minLength: TOGETHER, maxLength: TOGETHER });
  // N2I_RUNS=5000 sends 100,000.
  await holdsLater(40, heads, async (sent) => {
    for (const answer of await Promise.all(
      sent.map((head) => answerTo(proxy.url, head, PATIENCE)),
    )) {
      if (answer !== "") assert.match(answer, STATUS);
      answered += answer === "" ? 0 : 1;
      listed += answer.includes('{"nodes": [') ? 1 : 0;
    }
    for (const path of calls()) assert.match(path, ASKED);
  });
  // Not a claim: a busy machine answers some after the sender has given up.
  t.diagnostic(`${answered} answers, ${listed} lists`);
  assert.equal((await ask(`GET ${LIST}`)).status, 200);
});
