import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { until } from "../../grenade/lib/wait.ts";
import { type ProxyOptions, serveProxy } from "../../src/proxy/serve-proxy.ts";
import { start } from "../hostile/cli.ts";
import { AS_SHIPPED, startNovaApi } from "../lab/cloud/nova-api.ts";
import { type Cloud, withCloud } from "../lab/cloud/start.ts";
import { connect } from "../lab/connect.ts";
import { privateFolder } from "../lab/folder.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { PYTHON } from "../lab/python.ts";
import { servingHere } from "../manage/serving-here.ts";
import { NODES, type Queried, questions, type Who } from "./questions.ts";
import { type RealUsers, realUsers } from "./real-users.ts";
import { USUAL } from "./scene.ts";

const LIST = "/v2.1/os-baremetal-nodes";
const HEADERS = ["OpenStack-API-Version", "X-OpenStack-Nova-API-Version", "Vary"];

test("the proxy before a real Keystone and a real Ironic", async (t) => {
  const at = await scene(t);
  const before = await dump(at.db);
  const nova = startNovaApi(at.cloud, at.ironic.url);
  t.after(async () => (await nova).stop());
  const spec = await served(t, at, {});
  // Known from here on, for 60 s if it lasted.
  await ask(spec, at.users, { line: `GET ${LIST}`, who: "ending" });
  await t.test(
    "each caller has what his own token may, and Ironic's log has one call for a list",
    (t) => callers(t, at),
  );
  await t.test("a caller whom the policy admits gets no node that Ironic does not show him", (t) =>
    part(t, at),
  );
  await t.test("as Nova answers, but where its answer is of no use", async (t) =>
    asNova((await nova).url, at, { spec, compat: await served(t, at, { novaCompat: true }) }),
  );
  await t.test("Tempest's client and its schema take the answers", () => tempest(at.cloud, spec));
  await t.test("a token is known until its credential ends, and no longer", () => ending(at, spec));
  assert.deepEqual(await dump(at.db), before, "Ironic's database is as it was");
});

async function scene(t: TestContext) {
  const cloud = await withCloud(t, ["keystone"]);
  const more = { keystone_authtoken: cloud.authtoken };
  const asked = { auth: "keystone", token: cloud.token, more } as const;
  const ironic = await withIronic(t, "mysql", asked);
  const users = await realUsers(cloud);
  const db = connect({ ...(await needs("mysql")), database: ironic.database });
  t.after(() => db.destroy());
  await enrol(ironic);
  // Over REST one names no other project than his own.
  await db("nodes").where({ uuid: NODES.bare }).update({ owner: users.tenant });
  return { cloud, ironic, users, db, seen: await faultyProxy(ironic.url, t) };
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function enrol(ironic: IronicServer): Promise<void> {
  const api = apiOf(ironic);
  const common = { driver: "fake-hardware", maintenance: true };
  const properties = { cpus: 4, memory_mb: 4096, local_gb: "40", cpu_arch: "x86_64" };
  const usual = { ...common, uuid: NODES.usual, name: "usual-name", properties };
  for (const node of [usual, { ...common, uuid: NODES.bare }])
    assert.equal((await api("POST", "/v1/nodes", node)).status, 201);
  for (const address of ["52:54:00:00:02:09", "52:54:00:00:02:07"])
    assert.equal((await api("POST", "/v1/ports", { node_uuid: NODES.usual, address })).status, 201);
}

/** In this process. @returns its URL */
async function served(t: TestContext, { cloud, seen }: Scene, more: Partial<ProxyOptions>) {
  const asked = { ...USUAL, apiTimeout: 60, keystoneUrl: cloud.env.OS_AUTH_URL ?? "" };
  const told = { report: () => undefined, served: () => undefined };
  const options = { ...asked, ironicUrl: seen.url, ...more };
  const proxy = await servingHere({}, (until) => serveProxy(options, { ...told, until }));
  t.after(proxy.end);
  return proxy.url;
}

/** The program, which asks Keystone each time. */
async function program(t: TestContext, { cloud, seen }: Scene) {
  const urls = ["--keystone-url", cloud.env.OS_AUTH_URL ?? "", "--ironic-url", seen.url];
  const own = ["--listen", "127.0.0.1:0", "--token-cache", "0"];
  const started = start(["serve", "proxy", ...urls, ...own]);
  t.after(() => started.signal("SIGKILL"));
  const said = await started.heard(/listening on (\S+), Ironic \S+ 1\.1-1\.82, policy/);
  return { started, url: said[1] ?? "" };
}

async function ask(url: string, { tokens }: RealUsers, { line, who, fields = {}, body }: Queried) {
  const [method = "", path = ""] = line.split(" ");
  const token = tokens[who];
  // Nova's router has HTML for who asks for anything.
  const headers = {
    ...{ Accept: "application/json", ...fields },
    ...(token !== null && { "X-Auth-Token": token }),
  };
  const asked = { method, headers, ...(body !== undefined && { body }) };
  const answer = await fetch(`${url}${path}`, asked);
  const text = await answer.text();
  return {
    status: answer.status,
    fields: HEADERS.map((name) => answer.headers.get(name)),
    body: text.startsWith("{") ? JSON.parse(text) : text,
  };
}

type Answer = Awaited<ReturnType<typeof ask>>;

async function callers(t: TestContext, at: Scene): Promise<void> {
  const { users, cloud, seen } = at;
  const { started, url } = await program(t, at);
  const asks = async (who: Who, path = LIST): Promise<number> =>
    (await ask(url, users, { line: `GET ${path}`, who })).status;
  const log = accessLog(at.ironic);
  await log();
  let read = seen.calls().length;
  for (const [who, status] of [
    ["admin", 200],
    ["member", 403],
    ["reader", 403],
    ["nobody", 401],
    ["forged", 401],
    ["revoked", 401],
    ["system", 200],
    ["application", 200],
    ["restricted", 401],
  ] as const) {
    assert.equal(await asks(who), status, who);
    assert.equal((await log()).length, status === 200 ? 1 : 0, who);
    const fresh = seen.calls().slice(read);
    const tokens = fresh.map(({ token }) => token);
    assert.deepEqual(tokens, status === 200 ? [users.tokens[who]] : [], who);
    read = seen.calls().length;
  }
  const node = { id: NODES.usual, host: "IRONIC MANAGED", task_state: "enroll", cpus: 4 };
  const sizes = { memory_mb: 4096, disk_gb: "40", instance_uuid: null };
  const interfaces = ["52:54:00:00:02:09", "52:54:00:00:02:07"].map((address) => ({ address }));
  for (const id of [NODES.usual, "usual-name"]) {
    const { body } = await ask(url, users, { line: `GET ${LIST}/${id}`, who: "admin" });
    assert.deepEqual(body, { node: { ...node, ...sizes, interfaces } });
  }
  // No secret is where another process may read it.
  for (const name of ["cmdline", "environ"])
    for (const secret of [cloud.env.OS_PASSWORD ?? "?", cloud.token])
      assert.ok(!readFileSync(`/proc/${started.pid}/${name}`, "utf8").includes(secret));
  started.signal("SIGKILL");
  assert.doesNotMatch((await started.ended).err, /gAAAA/);
}

/** @returns what tells the requests in Ironic's access log since the last time */
function accessLog(ironic: IronicServer): () => Promise<readonly string[]> {
  let [read, turn] = [0, 0];
  return async () => {
    turn += 1;
    const last = `/v1/?turn=${turn}`;
    await fetch(`${ironic.url}${last}`);
    let fresh: readonly string[] = [];
    await until("Ironic logs the request", async () => {
      const lines = readFileSync(ironic.log, "utf8").match(/"[A-Z]+ \/\S* HTTP[^"]*"/g) ?? [];
      const end = lines.findIndex((line) => line.includes(`${last} `));
      if (end < 0) return lines.slice(-3).join();
      fresh = lines.slice(read, end);
      read = end + 1;
      return null;
    });
    return fresh;
  };
}

async function part(t: TestContext, at: Scene): Promise<void> {
  const folder = privateFolder("n2i-policy-", {});
  const policyFile = join(folder, "policy.yaml");
  writeFileSync(policyFile, '"os_compute_api:os-baremetal-nodes:list": "@"\n');
  const url = await served(t, at, { policyFile });
  const list = (who: Who): Promise<Answer> => ask(url, at.users, { line: `GET ${LIST}`, who });
  // Ironic itself answers with the one node of his project.
  const own = apiOf({ ...at.ironic, token: at.users.tokens.member });
  const { body } = await own("GET", "/v1/nodes?fields=uuid");
  const { nodes } = body as { readonly nodes: readonly { readonly uuid: string }[] };
  const [node, ...others] = nodes;
  assert.deepEqual([node?.uuid, others], [NODES.bare, []]);
  for (const who of ["member", "reader"] as const) {
    const { status, body: shown } = await list(who);
    assert.equal(status, 200);
    const { nodes: listed } = shown as { readonly nodes: readonly { readonly id: string }[] };
    // At the microversion that is asked for this Ironic shows owners none.
    for (const { id } of listed) assert.equal(id, NODES.bare, JSON.stringify(shown));
  }
  assert.equal((await list("admin")).status, 200);
}

async function asNova(
  nova: string,
  { users }: Scene,
  urls: { readonly spec: string; readonly compat: string },
): Promise<void> {
  const table = questions(users.project);
  assert.ok(table.length >= 40);
  const wrong: unknown[] = [];
  for (const asked of table) {
    const theirs = await ask(nova, users, asked);
    const ours = await ask(urls.spec, users, asked);
    const compat = asked.compat ? await ask(urls.compat, users, asked) : theirs;
    const same = JSON.stringify(ours) === JSON.stringify(theirs);
    const right =
      asked.differs === undefined ? same : !same && ours.status === asked.differs.status;
    if (!right || JSON.stringify(compat) !== JSON.stringify(theirs))
      wrong.push({ asked, theirs, ours, ...(asked.compat && { compat }) });
  }
  assert.equal(JSON.stringify(wrong, null, 1), "[]");
  // Who finds this red has a package that mends it: what is replaced in Nova may be left out.
  const list: Queried = { line: `GET ${LIST}`, who: "admin", fields: AS_SHIPPED };
  const shipped = await ask(nova, users, list);
  assert.equal(shipped.status, 500);
  assert.match(JSON.stringify(shipped.body), /NoSuchOptError/);
}

/** By now it is 401, or on a fast machine soon. */
async function ending({ users }: Scene, url: string): Promise<void> {
  for (let status = 200; status !== 401; await sleep(200)) {
    assert.equal(status, 200);
    status = (await ask(url, users, { line: `GET ${LIST}`, who: "ending" })).status;
  }
}

async function tempest(cloud: Cloud, url: string): Promise<void> {
  const type = "baremetal-nodes";
  const made = await cloud.api("identity", "POST", "/services", { service: { type, name: type } });
  // Keystone's own form.
  const { id } = (made.body as { readonly service: { readonly id: string } }).service;
  const endpoint = { service_id: id, interface: "public", url: `${url}/v2.1` };
  assert.equal((await cloud.api("identity", "POST", "/endpoints", { endpoint })).status, 201);
  const found = await tempestAsks(cloud, type);
  const ids = found.nodes.map((node) => node.id);
  assert.deepEqual(ids, [NODES.usual, NODES.bare]);
}

/** Every row but of what tells that a conductor is alive. */
async function dump(db: Knex): Promise<unknown> {
  const [names] = await db.raw("SHOW TABLES");
  // As mysql2 has it: a row a table, of one column.
  const tables = (names as readonly { readonly [name: string]: string }[])
    .map((row) => Object.values(row)[0] ?? "")
    .filter((name) => name !== "conductors");
  return Promise.all(tables.map(async (name) => [name, await db(name).select()]));
}

/** Its client, with its provider of tokens, checks each answer against its own schema. */
const ASK = `
import json, sys
from tempest.lib import auth
from tempest.lib.services.compute import baremetal_nodes_client
told = json.load(sys.stdin)
who = auth.KeystoneV3Credentials(username=told["username"], password=told["password"],
    project_name=told["project"], user_domain_id="default", project_domain_id="default")
provider = auth.KeystoneV3AuthProvider(who, told["keystone"])
client = baremetal_nodes_client.BaremetalNodesClient(provider, told["service"], None)
nodes = client.list_baremetal_nodes()["nodes"]
shown = [client.show_baremetal_node(node["id"])["node"] for node in nodes]
json.dump({"nodes": nodes, "shown": shown}, sys.stdout)
`;

export async function tempestAsks(
  { env }: Pick<Cloud, "env">,
  service: string,
): Promise<{ readonly nodes: readonly { readonly id: string }[]; readonly shown: unknown }> {
  const told = {
    ...{ service, keystone: env.OS_AUTH_URL, username: env.OS_USERNAME },
    ...{ password: env.OS_PASSWORD, project: env.OS_PROJECT_NAME },
  };
  // The proxy that it asks is in this process.
  const child = spawn(PYTHON, ["-c", ASK], { stdio: ["pipe", "pipe", "pipe"] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.end(JSON.stringify(told));
  const [status] = await once(child, "close");
  const [out, err] = await said;
  if (status !== 0) throw new Error(`Tempest's client: ${err.slice(-2000)}`);
  // As ASK writes it.
  return JSON.parse(out);
}
