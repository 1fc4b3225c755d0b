import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { assertRefusal } from "../hostile/cli.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { withCloud } from "../lab/cloud/with-cloud.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { listening } from "../support/listening.ts";
import { ADOPTED, adoption, NOTHING, THREE } from "./adoption.ts";

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
