import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Knex } from "knex";
import { openProxy } from "../../src/stages/serve-proxy.ts";
import { AS_SHIPPED, startNovaApi } from "../lab/cloud/nova-api.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { withCloud } from "../lab/cloud/with-cloud.ts";
import { connect } from "../lab/connect.ts";
import { lab } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { type Front, front } from "./front.ts";
import { type Asked, NODES, questions } from "./questions.ts";
import { type RealUsers, realUsers } from "./real-users.ts";
import { USUAL } from "./scene.ts";
import { tempestAsks } from "./tempest.ts";

const LIST = "/v2.1/os-baremetal-nodes";
const HEADERS = ["OpenStack-API-Version", "X-OpenStack-Nova-API-Version", "Vary"];

test("the proxy is Nova's own before a real Keystone and a real Ironic, and lists all", async (t) => {
  const cloud = await withCloud(t, ["keystone"]);
  if (cloud === null) return;
  const more = { keystone_authtoken: cloud.authtoken };
  const ironic = await withIronic(t, "mysql", { auth: "keystone", token: cloud.token, more });
  if (ironic === null) return;
  const users = await realUsers(cloud);
  await enrol(ironic);
  const { mariadb } = await lab();
  assert.ok(mariadb);
  const db = connect({ ...mariadb, database: ironic.database });
  t.after(() => db.destroy());
  const before = await dump(db);
  const seen = await front(t, ironic.url);
  const urls = { spec: await served(t, cloud, seen), compat: await served(t, cloud, seen, true) };
  await t.test("as Nova answers, but where its answer is of no use", (t) =>
    asNova(t, cloud, ironic, users, urls),
  );
  await t.test("Tempest's client and its schema take the answers", (t) =>
    tempest(t, cloud, urls.spec),
  );
  assert.deepEqual(await dump(db), before, "Ironic's database is as it was");
  await t.test("2,500 nodes are listed, none twice, while others come and go", () =>
    many(db, users, urls.spec, seen),
  );
});

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

async function served(
  t: TestContext,
  cloud: Cloud,
  { url: ironicUrl }: Front,
  novaCompat = false,
): Promise<string> {
  const asked = { ...USUAL, apiTimeout: 60, keystoneUrl: cloud.env.OS_AUTH_URL ?? "" };
  const told = { say: () => undefined, served: () => undefined };
  const proxy = await openProxy({ ...asked, ironicUrl, novaCompat }, told);
  t.after(proxy.end);
  return proxy.url;
}

interface Answer {
  readonly status: number;
  readonly fields: readonly (string | null)[];
  readonly body: unknown;
}

async function ask(
  url: string,
  { tokens }: RealUsers,
  { line, who, fields = {}, body }: Asked,
): Promise<Answer> {
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

async function asNova(
  t: TestContext,
  cloud: Cloud,
  ironic: IronicServer,
  users: RealUsers,
  urls: { readonly spec: string; readonly compat: string },
): Promise<void> {
  const nova = await startNovaApi(cloud, ironic.url);
  t.after(nova.stop);
  const table = questions(users.project);
  assert.ok(table.length >= 40);
  const wrong: unknown[] = [];
  for (const asked of table) {
    const theirs = await ask(nova.url, users, asked);
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
  const list: Asked = { line: `GET ${LIST}`, who: "admin", fields: AS_SHIPPED };
  const shipped = await ask(nova.url, users, list);
  assert.equal(shipped.status, 500);
  assert.match(JSON.stringify(shipped.body), /NoSuchOptError/);
}

async function tempest(t: TestContext, cloud: Cloud, url: string): Promise<void> {
  const type = "baremetal-nodes";
  const made = await cloud.api("identity", "POST", "/services", { service: { type, name: type } });
  // Keystone's own form.
  const { id } = (made.body as { readonly service: { readonly id: string } }).service;
  const endpoint = { service_id: id, interface: "public", url: `${url}/v2.1` };
  assert.equal((await cloud.api("identity", "POST", "/endpoints", { endpoint })).status, 201);
  const found = await tempestAsks(cloud, type);
  if (found === null)
    return t.skip("needs Tempest 33: on Debian 12, apt-get install python3-tempest");
  assert.deepEqual(
    found.nodes.map((node) => node.id),
    [NODES.usual, NODES.bare],
  );
}

/** Nodes beside the two, as many as are listed in three pages. */
const MANY = 2498;

async function many(db: Knex, users: RealUsers, url: string, seen: Front): Promise<void> {
  const [first] = await db("nodes").where({ uuid: NODES.bare });
  const added = (at: number) => ({ ...first, id: undefined, uuid: uuid(at), name: `many-${at}` });
  const rows = Array.from({ length: MANY }, (_, at) => added(at));
  await db.batchInsert("nodes", rows, 500);
  const all = [NODES.usual, NODES.bare, ...rows.map((row) => row.uuid)];
  assert.deepEqual(await listed(url, users), all);
  const pages: string[] = [];
  seen.before = async (path) => {
    if (!path.includes("marker=")) return;
    pages.push(path);
    if (pages.length > 1) return;
    // That behind which the list goes on, one that is to come; and one more at the end.
    await db("nodes")
      .whereIn("uuid", [all[999] ?? "", all[1500] ?? ""])
      .delete();
    await db("nodes").insert(added(MANY));
  };
  const gone = all[1500];
  assert.deepEqual(await listed(url, users), [...all.filter((one) => one !== gone), uuid(MANY)]);
  assert.ok(pages.length >= 3, "the marker that was gone was asked for");
  seen.before = async () => undefined;
}

function uuid(at: number): string {
  return `c0ffee00-0000-4000-9000-${String(at).padStart(12, "0")}`;
}

async function listed(url: string, users: RealUsers): Promise<readonly string[]> {
  const { status, body } = await ask(url, users, { line: `GET ${LIST}`, who: "admin" });
  assert.equal(status, 200);
  // The proxy's own form.
  return (body as { readonly nodes: readonly { readonly id: string }[] }).nodes.map(({ id }) => id);
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
