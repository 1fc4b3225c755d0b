import assert from "node:assert/strict";
import type { Cloud } from "../lab/cloud/start.ts";

export async function realUsers(cloud: Cloud) {
  const { token: admin, env } = cloud;
  const { id: user, project } = await whose(cloud, admin);
  const roles = listOf(await cloud.api("identity", "GET", "/roles"), "roles");
  const revoked = await given(cloud, password(cloud, env.OS_USERNAME, inProject(project)));
  await revoke(cloud, revoked);
  await cloud.api("identity", "PUT", `/system/users/${user}/roles/${roles.get("admin")}`);
  const places = new Map<string, string>();
  const tenant = async (role: string): Promise<string> => {
    const [own, place] = [await made(cloud, "user", role), await made(cloud, "project", role)];
    places.set(role, place);
    const path = `/projects/${place}/users/${own}/roles/${roles.get(role)}`;
    assert.equal((await cloud.api("identity", "PUT", path)).status, 204);
    return given(cloud, password(cloud, role, inProject(place)));
  };
  const tokens = {
    ...{ admin, revoked, nobody: null, forged: "gAAAAABforged" },
    ...{ member: await tenant("member"), reader: await tenant("reader") },
    system: await given(cloud, password(cloud, env.OS_USERNAME, { system: { all: true } })),
    application: await application(cloud, user, "billing", 3600),
    restricted: await application(cloud, user, "servers", 3600, SERVERS),
    ending: await application(cloud, user, "ending", LASTS_S),
  };
  return { project, tenant: places.get("member") ?? "", tokens };
}

export type RealUsers = Awaited<ReturnType<typeof realUsers>>;

/** Of Nova's API its servers alone: a service that knows nothing of such rules has to refuse the token. */
const SERVERS = { access_rules: [{ service: "compute", method: "GET", path: "/v2.1/servers" }] };

const LASTS_S = 20;

async function application(
  cloud: Cloud,
  user: string,
  name: string,
  seconds: number,
  more: object = {},
): Promise<string> {
  const expires_at = new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19);
  const body = { application_credential: { name, secret: "of-the-lab", expires_at, ...more } };
  const path = `/users/${user}/application_credentials`;
  const { id } = oneOf(await cloud.api("identity", "POST", path, body), "application_credential");
  const methods = ["application_credential"];
  const identity = { methods, application_credential: { id, secret: "of-the-lab" } };
  return given(cloud, { identity });
}

function inProject(id: string): object {
  return { project: { id } };
}

function password({ env }: Cloud, name: string | undefined, scope: object): object {
  const user = { name, domain: { id: "default" }, password: env.OS_PASSWORD };
  return { identity: { methods: ["password"], password: { user } }, scope };
}

async function given({ env }: Cloud, auth: object): Promise<string> {
  const answer = await fetch(`${env.OS_AUTH_URL}/auth/tokens`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ auth }),
  });
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.headers.get("x-subject-token") ?? "";
}

async function revoke({ env, token }: Cloud, which: string): Promise<void> {
  const headers = { "X-Auth-Token": token, "X-Subject-Token": which };
  const answer = await fetch(`${env.OS_AUTH_URL}/auth/tokens`, { method: "DELETE", headers });
  assert.equal(answer.status, 204);
}

async function whose({ env }: Cloud, token: string) {
  const headers = { "X-Auth-Token": token, "X-Subject-Token": token };
  const answer = await fetch(`${env.OS_AUTH_URL}/auth/tokens`, { headers });
  const { user, project } = oneOf({ body: await answer.json() }, "token");
  // Keystone's own form.
  return { id: (user as WithName).id, project: (project as WithName).id };
}

async function made(cloud: Cloud, kind: "user" | "project", name: string): Promise<string> {
  const secret = kind === "user" ? { password: cloud.env.OS_PASSWORD } : {};
  const body = { [kind]: { name, domain_id: "default", ...secret } };
  return String(oneOf(await cloud.api("identity", "POST", `/${kind}s`, body), kind).id);
}

interface WithName {
  readonly id: string;
  readonly name: string;
}

function oneOf({ body }: { readonly body: unknown }, kind: string) {
  // Keystone's own form.
  const found = (body as { readonly [kind: string]: { readonly [field: string]: unknown } })[kind];
  assert.ok(found, JSON.stringify(body));
  return found;
}

function listOf({ body }: { readonly body: unknown }, kind: string): ReadonlyMap<string, string> {
  // Keystone's own form.
  const found = (body as { readonly [kind: string]: readonly WithName[] })[kind] ?? [];
  return new Map(found.map(({ name, id }) => [name, id]));
}
