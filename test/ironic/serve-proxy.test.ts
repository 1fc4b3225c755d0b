import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { type Started, start } from "../hostile/cli.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { withCloud } from "../lab/cloud/with-cloud.ts";
import { connect } from "../lab/connect.ts";
import { lab } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { copyNodes } from "../lab/ironic/rows.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";

const PASSWORD = "a-secret-of-nobody";
const DOMAIN = { id: "default" };

interface Listed {
  readonly nodes: readonly { readonly id: string }[];
}

test("real Keystone and Ironic: each caller has what his own token may, and nothing is written", async (t) => {
  const at = await scene(t);
  if (at === null) return;
  const { asks, calls, callers, ironic, cloud, db, started } = at;
  const before = await rows(db);

  // Who may, and how often Ironic was asked for nodes.
  assert.deepEqual([await asks(callers.admin), calls()], [200, [callers.admin]]);
  assert.deepEqual([await asks(callers.member), calls()], [403, []]);
  assert.deepEqual([await asks(callers.reader), calls()], [403, []]);
  assert.deepEqual([await asks(null), calls()], [401, []]);
  assert.deepEqual([await asks("gAAAAA-nobody"), calls()], [401, []]);
  assert.equal(await asks(callers.system), 200);
  assert.equal(await asks(callers.application), 200);

  // What it shows.
  const api = apiOf({ ...ironic, token: cloud.token });
  const { body } = await api("GET", "/v1/nodes?fields=uuid");
  const [uuid = ""] = (body as { readonly nodes: readonly { readonly uuid: string }[] }).nodes.map(
    (node) => node.uuid,
  );
  for (const id of [uuid, "the-first"]) {
    const shown = await at.get(`/${id}`, callers.admin);
    const { node } = (await shown.json()) as { readonly node: object };
    assert.deepEqual(node, {
      ...{ id: uuid, interfaces: [{ address: "52:54:00:00:02:07" }], host: "IRONIC MANAGED" },
      ...{ task_state: "enroll", cpus: "8", memory_mb: 4096, disk_gb: 0, instance_uuid: null },
    });
  }
  assert.equal((await at.get(`/${uuid.replace(/^./, "0")}`, callers.admin)).status, 404);
  assert.equal((await at.get("/detail", callers.admin)).status, 404);

  // Tokens that end.
  const revoked = await fetch(`${cloud.env.OS_AUTH_URL}/auth/tokens`, {
    method: "DELETE",
    headers: { "X-Auth-Token": callers.revoked, "X-Subject-Token": callers.revoked },
  });
  assert.equal(revoked.status, 204);
  assert.equal(await asks(callers.revoked), 401);
  // One lives until its credential ends, which on a slow machine may be at once.
  const short = await credential(cloud, "short", 20);
  for (let status = 200; status !== 401; status = await asks(short)) {
    assert.equal(status, 200);
    await sleep(500);
  }

  // No secret is where another process may read it.
  const [words, environ] = ["cmdline", "environ"].map((name) =>
    readFileSync(`/proc/${started.pid}/${name}`, "utf8"),
  );
  for (const secret of [cloud.env.OS_PASSWORD ?? "?", PASSWORD, cloud.token])
    assert.ok(!`${words}${environ}`.includes(secret));

  // Killed and started again, it answers.
  started.signal("SIGKILL");
  await started.ended;
  const again = await at.serve();
  assert.equal(await asks(callers.admin), 200);
  assert.deepEqual(await rows(db), before);

  // A list of three pages under way at the end is whole.
  await copyNodes(db, 2499);
  at.calls();
  const last = at.get("", callers.admin);
  while (at.calls().length === 0) await sleep(5);
  again.signal("SIGTERM");
  const whole = (await (await last).json()) as Listed;
  assert.equal(whole.nodes.length, 2500);
  const ended = await again.ended;
  assert.equal(ended.status, 143, ended.err);
  assert.doesNotMatch(ended.err, /gAAAA/);
});

async function scene(t: TestContext) {
  const cloud = await withCloud(t, ["keystone"]);
  if (cloud === null) return null;
  const { token, authtoken: keystone_authtoken } = cloud;
  const ironic = await withIronic(t, "mysql", {
    auth: "keystone",
    token,
    more: { keystone_authtoken },
  });
  const { mariadb } = await lab();
  if (ironic === null || mariadb === null) return null;
  const db = connect({ ...mariadb, database: ironic.database });
  t.after(() => db.destroy());
  await firstNode(ironic, token);
  let [url, read] = ["", 0];
  const recorder = await faultyProxy(ironic.url, t);
  const serve = async (): Promise<Started> => {
    const keystone = ["--keystone-url", cloud.env.OS_AUTH_URL ?? ""];
    const place = ["--listen", "127.0.0.1:0", "--token-cache", "0"];
    const one = start(["serve", "proxy", ...keystone, "--ironic-url", recorder.url, ...place]);
    t.after(() => one.signal("SIGKILL"));
    const said = await one.heard(/listening on (\S+), Ironic \S+ 1\.1-1\.82, policy/);
    url = `${said[1]}/v2.1/os-baremetal-nodes`;
    return one;
  };
  const get = (path: string, caller: string | null): Promise<Response> =>
    fetch(`${url}${path}`, { headers: caller === null ? {} : { "X-Auth-Token": caller } });
  return {
    ...{ cloud, ironic, db, get, serve, started: await serve(), callers: await callersOf(cloud) },
    async asks(caller: string | null): Promise<number> {
      const answer = await get("", caller);
      await answer.text();
      return answer.status;
    },
    /** Whose token Ironic was asked for nodes with since the last time. */
    calls(): readonly (string | undefined)[] {
      const fresh = recorder.calls().slice(read);
      read += fresh.length;
      return fresh.filter(({ path }) => path.startsWith("/v1/nodes")).map(({ token: one }) => one);
    },
  };
}

async function firstNode(ironic: IronicServer, token: string): Promise<void> {
  const api = apiOf({ ...ironic, token });
  const properties = { cpus: "8", memory_mb: 4096 };
  const node = await api("POST", "/v1/nodes", {
    name: "the-first",
    driver: "fake-hardware",
    properties,
  });
  assert.equal(node.status, 201, JSON.stringify(node.body));
  const { uuid } = node.body as { readonly uuid: string };
  const port = await api("POST", "/v1/ports", { node_uuid: uuid, address: "52:54:00:00:02:07" });
  assert.equal(port.status, 201, JSON.stringify(port.body));
}

/** Tokens of everybody who may come. */
async function callersOf(cloud: Cloud) {
  const of = async (path: string, word: string): Promise<string> => {
    const { body } = await cloud.api("identity", "GET", path);
    // Keystone's own form.
    return (
      (body as { readonly [word: string]: readonly { readonly id: string }[] })[word]?.[0]?.id ?? ""
    );
  };
  const project = await of("/projects?name=admin", "projects");
  const user = async (name: string, role: string): Promise<string> => {
    const body = { user: { name, domain_id: "default", password: PASSWORD } };
    const made = await cloud.api("identity", "POST", "/users", body);
    // Keystone's own form.
    const { id } = (made.body as { readonly user: { readonly id: string } }).user;
    const path = `/projects/${project}/users/${id}/roles/${await of(`/roles?name=${role}`, "roles")}`;
    const granted = await cloud.api("identity", "PUT", path);
    assert.equal(granted.status, 204);
    return login(cloud, password(name, PASSWORD), { project: { id: project } });
  };
  const own = password("admin", cloud.env.OS_PASSWORD ?? "");
  const scope = { project: { id: project } };
  return {
    admin: await login(cloud, own, scope),
    revoked: await login(cloud, own, scope),
    system: await login(cloud, own, { system: { all: true } }),
    member: await user("member", "member"),
    reader: await user("reader", "reader"),
    application: await credential(cloud, "lasting", 3600),
  };
}

function password(name: string, secret: string): object {
  return { methods: ["password"], password: { user: { name, domain: DOMAIN, password: secret } } };
}

async function login(cloud: Cloud, identity: object, scope: object | null): Promise<string> {
  const answer = await fetch(`${cloud.env.OS_AUTH_URL}/auth/tokens`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ auth: { identity, ...(scope !== null && { scope }) } }),
  });
  assert.equal(answer.status, 201, await answer.text());
  return answer.headers.get("x-subject-token") ?? "";
}

/** A token by an application credential of the operator's that ends in so many seconds. */
async function credential(cloud: Cloud, name: string, seconds: number): Promise<string> {
  const me = await fetch(`${cloud.env.OS_AUTH_URL}/auth/tokens`, {
    headers: { "X-Auth-Token": cloud.token, "X-Subject-Token": cloud.token },
  });
  const { token } = (await me.json()) as {
    readonly token: { readonly user: { readonly id: string } };
  };
  const expires_at = new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19);
  const body = { application_credential: { name, expires_at } };
  const made = await cloud.api(
    "identity",
    "POST",
    `/users/${token.user.id}/application_credentials`,
    body,
  );
  // Keystone's own form.
  const { application_credential: own } = made.body as {
    readonly application_credential: { readonly id: string; readonly secret: string };
  };
  const application_credential = { id: own.id, secret: own.secret };
  return login(cloud, { methods: ["application_credential"], application_credential }, null);
}

/** Everything of nodes and ports, but what its own periodic tasks write. */
async function rows(db: Knex): Promise<string> {
  const tables = ["nodes", "ports", "node_traits", "allocations", "node_history"];
  const all = await Promise.all(tables.map((table) => db(table).select("*")));
  return JSON.stringify(all.map((one) => one.map(({ updated_at: _at, ...row }) => row)));
}
