import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { assertRefusal } from "../hostile/cli.ts";
import { type Cloud, withCloud } from "../lab/cloud/start.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { needsIronic, withIronic } from "../lab/ironic/with-ironic.ts";
import { fakeCloud, PASSWORD } from "../migrate/nova/fake-cloud.ts";
import { authority } from "../support/certificates.ts";
import { copyFolder } from "../support/copy-folder.ts";
import { listening } from "../support/listening.ts";
import { ADOPTED, adoption, NOTHING, THREE } from "./adoption.ts";
import { finished } from "./finished.ts";
import { native } from "./native.ts";
import { scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { takenOver } from "./taken-over.ts";
import { assertTold } from "./told.ts";

/** Rows of twenty machines of every state, and secrets in them. */
const [ROWS, SECRETS] = [44, 17];

test("20 machines of every state are adopted over REST on MariaDB, none is switched, and a rollback deletes them", async (t) => {
  const at = await scene(t, await needsIronic(t), 20, { rest: true });
  await native(at);
  const before = await tables(at.db);
  const planned = await at.planned();
  assert.match(planned.out, /^Target {2}http:\S+ \(rest, ironic 2023\.1, microversion 1\.82\)/m);
  const applied = await at.runs(3, "apply", "--yes", "--skip-blocked", "--in-flight", "16");
  assert.match(applied.out, new RegExp(`^Apply: ${ROWS} rows created, 0 unchanged\\.$`, "m"));
  const masked = `${ROWS} validated, 0 mis.*; ${SECRETS} secrets masked by the service`;
  assert.match(applied.err, new RegExp(masked));
  await assertTold(at);
  await takenOver(at);
  const again = await at.runs(3, "apply", "--yes", "--skip-blocked");
  assert.match(again.out, new RegExp(`^Apply: 0 rows created, ${ROWS} unchanged\\.$`, "m"));
  await at.runs(0, "verify");
  assert.deepEqual(at.sim.commands(), [], "what the BMCs were told");
  await finished(at);
  const undone = await at.runs(0, "rollback", "--all", "--yes", "--after-finish");
  const removed = `^Rollback: ${ROWS} rows removed, 0 already deleted, 0 left`;
  assert.match(undone.out, new RegExp(removed, "m"));
  assert.deepEqual(await tables(at.db), before);
  assert.deepEqual(at.sim.commands(), [], "what the BMCs were told");
});

const FILLED = "filled-in";
const OWNER = "another-project";

test("what a real Keystone's project brings, and Ironic and Glance fill in, is made as planned and given back, but not to who sees no node", async (t) => {
  const real = await withCloud(t, ["keystone"]);
  const { token, authtoken: keystone_authtoken } = real;
  const images = await glance(t);
  const more = {
    ...{ keystone_authtoken, glance: images.section },
    DEFAULT: { default_resource_class: FILLED },
  };
  const ironic = await withIronic(t, "mysql", { auth: "keystone", token, more });
  const set = { owner: OWNER, resource_class: "own" };
  const at = await adoption(t, ironic, ["--ironic-url", ironic.url], real.env, { set });
  const probe = { uuid: THREE[0], driver: "fake-hardware" };
  const made = await at.api("POST", "/v1/nodes", probe);
  // The answer is the node.
  const { owner, resource_class } = made.body as { readonly [field: string]: unknown };
  assert.ok(typeof owner === "string" && resource_class === FILLED, "it does fill them in");
  assert.equal((await at.api("DELETE", `/v1/nodes/${THREE[0]}`)).status, 204);
  await at.does(0, "plan");
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
  await at.does(0, "verify");
  const used = await at.api("GET", `/v1/nodes/${THREE[2]}?fields=instance_info`);
  assert.match(JSON.stringify(used.body), /"image_type": ?"partition"/);
  assert.ok(images.asked() >= 2, "adoption asked Glance for each tenant's image");
  const third = await at.api("GET", `/v1/nodes/${THREE[2]}?fields=owner,resource_class`);
  const own = { owner: OWNER, resource_class: "own", links: null };
  assert.deepEqual({ ...(third.body as object), links: null }, own);
  const env = { ...real.env, ...(await another(real)) };
  for (const how of ["--plan", "--yes"]) {
    const hidden = await at.does(12, "rollback", ["--all", how, "-q"], env);
    assertRefusal(hidden, 12, "N2I-E211", /refuses GET \/v1\/conductors: 403/);
  }
  assert.deepEqual(await at.there(), ADOPTED);
  const system = { ...real.env, OS_PROJECT_NAME: "", OS_SYSTEM_SCOPE: "all" };
  await at.does(0, "rollback", ["--all", "--yes"], system);
  assert.deepEqual(await at.there(), NOTHING);
});

/** A member of a project that owns no node: Ironic says 404 to it of each. */
async function another({ api, env }: Cloud): Promise<{ readonly [name: string]: string }> {
  const name = "tenant";
  const made = async (kind: string, more: object = {}): Promise<string> => {
    const body = { [kind]: { name, domain_id: "default", ...more } };
    const answer = await api("identity", "POST", `/${kind}s`, body);
    // Keystone's own form.
    return (answer.body as { readonly [kind: string]: { readonly id: string } })[kind]?.id ?? "";
  };
  const project = await made("project");
  const user = await made("user", { password: env.OS_PASSWORD });
  const { body } = await api("identity", "GET", "/roles?name=member");
  // Keystone's own form.
  const [role] = (body as { readonly roles: readonly { readonly id: string }[] }).roles;
  const granted = `/projects/${project}/users/${user}/roles/${role?.id}`;
  assert.equal((await api("identity", "PUT", granted)).status, 204);
  return { OS_USERNAME: name, OS_PROJECT_NAME: name };
}

/** What a tenant's image with kernel and ramdisk of its own has. */
const IMAGE = {
  ...{ name: "tenant", status: "active", visibility: "public", protected: false, tags: [] },
  ...{ disk_format: "ami", container_format: "ami", size: 1_048_576, min_disk: 0, min_ram: 0 },
  ...{ checksum: "d41d8cd98f00b204e9800998ecf8427e", os_hidden: false, owner: null },
  ...{ created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" },
  kernel_id: "d0000000-0000-4000-8000-00000000000b",
  ramdisk_id: "d0000000-0000-4000-8000-00000000000c",
};

/** As much of Glance as Ironic asks: it has every image, each an ami. */
async function glance(t: TestContext) {
  let asked = 0;
  const server = createServer(({ url = "" }, answer) => {
    const id = /^\/v2\/images\/([^/?]+)$/.exec(url)?.[1];
    const schema = url === "/v2/schemas/image" ? { name: "image", properties: {} } : null;
    if (id !== undefined) asked += 1;
    const body = id === undefined ? schema : { ...IMAGE, id };
    answer.writeHead(body === null ? 404 : 200, { "Content-Type": "application/json" });
    answer.end(JSON.stringify(body));
  });
  const endpoint_override = await listening(t, server);
  return { section: { auth_type: "none", endpoint_override }, asked: () => asked };
}

const NAME = "tenant-3";
const [FIRST, FREE, NAMED] = THREE;

test("a uuid or a name that is taken fails its machine at once, and what another run loads then is never rolled back", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, ["--ironic-url", proxy.url], {}, { set: { name: NAME } });
  const made = async (body: object): Promise<string> => {
    const asked = { driver: "fake-hardware", ...body };
    const { status, body: node } = await at.api("POST", "/v1/nodes", asked);
    assert.equal(status, 201, JSON.stringify(node));
    // The answer is the node.
    return (node as { readonly uuid: string }).uuid;
  };
  const gone = async (...uuids: readonly string[]): Promise<void> => {
    for (const uuid of uuids)
      assert.equal((await at.api("DELETE", `/v1/nodes/${uuid}`)).status, 204);
  };
  const spare = await made({});
  const other = await made({ name: "spare" });
  await at.does(0, "plan");
  const [mine, theirs, run] = ["mine", "theirs", "run"].map((name) => join(at.folder, name));
  assert.ok(mine !== undefined && theirs !== undefined && run !== undefined);
  copyFolder(run, theirs);

  // As many rows as when the plan was made: only the calls themselves meet them.
  await gone(spare);
  await made({ uuid: FREE });
  const renamed = [{ op: "replace", path: "/name", value: NAME }];
  assert.equal((await at.api("PATCH", `/v1/nodes/${other}`, renamed)).status, 200);
  const { out } = await at.does(3, "apply", ["--yes"]);
  for (const told of [
    `^Failed: ${FREE} .*that this tool did not create$`,
    `^Failed: ${NAMED} .*POST of the node: 409 .*; Ironic has no record of it$`,
  ])
    assert.match(out, new RegExp(told, "m"));
  const posts = proxy.calls().filter(({ method, path }) => method + path === "POST/v1/nodes");
  assert.equal(posts.length, 3, "a duplicate is not tried again");
  const states = async (): Promise<readonly string[]> => (await at.there()).nodes;
  await at.does(0, "rollback", ["--all", "--yes"]);
  assert.deepEqual(await states(), [`${FREE} enroll`, `${other} enroll`].toSorted());

  await gone(FREE ?? "", other);
  renameSync(run, mine);
  renameSync(theirs, run);
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
  renameSync(run, theirs);
  renameSync(mine, run);
  const undone = await at.does(0, "rollback", ["--all", "--yes"]);
  assert.match(undone.out, /^Rollback: 0 rows removed, 0 already deleted, 0 left\.$/m);
  await at.does(0, "apply", ["--yes"]);
  await at.does(0, "rollback", ["--all", "--yes"]);
  assert.deepEqual(await at.there(), ADOPTED, "all three are the other run's");
  renameSync(run, mine);
  renameSync(theirs, run);
  await at.does(0, "rollback", ["--node", FIRST ?? "", "--yes"]);
  assert.deepEqual(await states(), ADOPTED.nodes.slice(1));
});

const SECRET = "a-secret-of-the-cloud";

test("with http_basic a cloud's password comes from secure.yaml, and a wrong one is refused unseen", async (t) => {
  const ironic = await withIronic(t, "postgresql", { auth: "http_basic" });
  const at = await adoption(t, ironic, ["--os-cloud", "lab"], { HOME: "/nonexistent" });
  const auth = { username: "admin", endpoint: ironic.url };
  const clouds = join(at.folder, "clouds.yaml");
  writeFileSync(clouds, JSON.stringify({ clouds: { lab: { auth_type: "http_basic", auth } } }));
  const secure = join(at.folder, "secure.yaml");
  const put = (password: string): void =>
    writeFileSync(secure, `clouds:\n  lab:\n    auth: {password: ${password}}\n`, { mode: 0o600 });
  const env = { OS_CLIENT_CONFIG_FILE: clouds, OS_CLIENT_SECURE_FILE: secure };
  put(SECRET);
  const refused = await at.does(12, "plan", [], env);
  assertRefusal(refused, 12, "N2I-E211", /rejects the credentials/);
  assert.doesNotMatch(refused.err + refused.out, new RegExp(SECRET));
  put(ironic.password ?? "");
  await at.does(0, "plan", [], env);
  await at.does(0, "apply", ["--yes"], env);
  assert.deepEqual(await at.there(), ADOPTED);
  await at.does(0, "rollback", ["--all", "--yes"], env);
  assert.deepEqual(await at.there(), NOTHING);
});

test("a token of Keystone is renewed when it is refused, though Keystone falters, and the service comes from its catalog", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const keystone = await fakeCloud(t, proxy.url);
  const inside = { OS_INTERFACE: "internal", OS_REGION_NAME: "lab", HOME: "/nonexistent" };
  const password = { ...keystone.env, ...inside };
  const at = await adoption(t, ironic, ["--via", "rest"], password);
  await at.does(0, "plan");
  assert.match(
    keystone.logins[0] ?? "",
    /"methods":\["password"\].*"name":"admin","domain":\{"id":"default"\},"password".*"scope":\{"project":\{"name":"admin"/,
  );
  let calls = 0;
  const dead = new Set<string>();
  proxy.use(({ token }) => {
    calls += 1;
    if (calls === 12 && token !== undefined) dead.add(token);
    if (token !== undefined && !dead.has(token)) return null;
    return { do: "answer", status: 401, text: `{"error": "no token ${token}"}` };
  });
  const before = keystone.tokens;
  keystone.faltering = 2;
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
  // One for the run, one for the guard's look, one in place of the dead one.
  assert.equal(keystone.tokens, before + 3);
  const application = {
    OS_AUTH_TYPE: "v3applicationcredential",
    OS_APPLICATION_CREDENTIAL_ID: "abc",
    OS_APPLICATION_CREDENTIAL_SECRET: PASSWORD,
  };
  await at.does(0, "rollback", ["--all", "--yes"], application);
  assert.match(keystone.logins.at(-1) ?? "", /"application_credential":\{"id":"abc","secret"/);
  assert.deepEqual(await at.there(), NOTHING);
  const wrong = await at.does(12, "plan", [], { OS_PASSWORD: "another-secret" });
  assertRefusal(wrong, 12, "N2I-E211", /Keystone at .* rejects the credentials/);
  assert.doesNotMatch(wrong.err, /another-secret/);
  const gone = await at.does(64, "plan", [], { OS_REGION_NAME: "moon" });
  assertRefusal(gone, 64, "N2I-E106", /no internal baremetal endpoint in region moon/);
});

test("a plan for one service is refused at another, and at a database", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, []);
  await at.does(0, "plan", ["--ironic-url", ironic.url]);
  const other = await at.does(4, "apply", ["--yes", "--ironic-url", `${proxy.url}/`]);
  const err = other.err.replace(/^Plan: .*\n/m, "");
  assertRefusal({ ...other, err }, 4, "N2I-E300", /address was/);
  const both = ["--ironic-url", ironic.url, "--ironic-db", "sqlite:////x"];
  assertRefusal(await at.does(64, "plan", both), 64, "N2I-E100", /are mutually exclusive/);
  const nowhere = await at.does(64, "plan", ["--without", "ironic-url"]);
  assertRefusal(nowhere, 64, "N2I-E100", /location of Ironic is missing/);
  proxy.use(() => ({ do: "answer", status: 200, text: "{}" }));
  const none = await at.does(4, "plan", ["--ironic-url", proxy.url]);
  assertRefusal(none, 4, "N2I-E202", /is not a bare metal service/);
});

const HERE = "IP:127.0.0.1";

test("nodes are adopted over TLS with a private authority, and each certificate fault is reported", async (t) => {
  const ironic = await needsIronic(t);
  const ca = authority(t);
  const good = ca.signs(HERE, 1);
  const proxy = await faultyProxy(ironic.url, t, good);
  const keystone = await fakeCloud(t, proxy.url, good);
  const inside = { OS_INTERFACE: "internal", OS_REGION_NAME: "lab", HOME: "/nonexistent" };
  const login = { ...keystone.env, ...inside };
  const at = await adoption(t, ironic, [], { HOME: "/nonexistent" });
  const cacert = { OS_CACERT: ca.file };
  await at.does(0, "plan", ["--via", "rest"], { ...login, ...cacert });
  await at.does(0, "apply", ["--via", "rest", "--yes"], { ...login, ...cacert });
  assert.deepEqual(await at.there(), ADOPTED);
  const clouds = join(at.folder, "clouds.yaml");
  const auth = { auth_url: keystone.url, username: "mover", password: PASSWORD };
  const lab = { auth, interface: "internal", region_name: "lab", verify: false };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab } }), { mode: 0o600 });
  const unlooked = await at.does(0, "rollback", ["--os-cloud", "lab", "--all", "--yes"], {
    OS_CLIENT_CONFIG_FILE: clouds,
  });
  assert.match(unlooked.err, /Warning: .* has insecure: certificates are not checked/);
  assert.deepEqual(await at.there(), NOTHING);

  const refuses = async (
    words: RegExp,
    options: readonly string[],
    env: { readonly [name: string]: string } = cacert,
  ): Promise<void> => {
    const refused = await at.does(1, "plan", options, env);
    assertRefusal(refused, 1, "N2I-E213", words);
    assert.doesNotMatch(refused.err + refused.out, new RegExp(PASSWORD));
  };
  const unsigned = /not signed by a trusted CA.*\n(.*\n)*.*Fix: .*OS_CACERT/;
  await refuses(unsigned, ["--via", "rest"], login);
  const direct = ["--ironic-url", proxy.url];
  await refuses(/not signed by a trusted CA/, direct, {});
  const localhost = proxy.url.replace("127.0.0.1", "localhost");
  await refuses(/is for a different name/, ["--ironic-url", localhost]);
  proxy.shows(ca.signs(HERE, -1));
  await refuses(/has expired/, direct);
  await refuses(/does not use TLS/, ["--ironic-url", ironic.url.replace("http:", "https:")]);
  const wrong = join(at.folder, "wrong.pem");
  writeFileSync(wrong, "no certificate");
  const unread = await at.does(64, "plan", [...direct, "--os-cacert", wrong]);
  assertRefusal(unread, 64, "N2I-E106", /wrong\.pem contains no certificate/);
});
