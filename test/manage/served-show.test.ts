import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { objectOf, parsedJson } from "../../src/lib/json.ts";
import { start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import { instead } from "../support/faulty-service.ts";
import { addBond, addRunning, inMemory, macOf, uuidOf } from "./in-memory.ts";
import { BODY, bodyOf, NODE, said, servedScene } from "./served-scene.ts";

test("a server that was managed is shown where Location says, to administrators alone", async (t) => {
  for (const more of [{ description: "a shop" }, { availability_zone: "az1" }]) {
    const { ask, cloud, node, manages } = await servedScene(t);
    cloud.images.set("an-image", { id: "an-image", name: "debian", status: "active" });
    const made = await manages({ ...BODY, ...more });
    const at = made.fields.get("location") ?? "";
    const shown = await ask(`GET ${at}`);
    assert.deepEqual([shown.status, shown.body], [200, made.body]);
    assert.equal(shown.body.user_id, "u");
    const upper = `GET ${at.toUpperCase().replace("/V1/SERVERS", "/v1/servers")}`;
    assert.equal((await ask(upper)).status, 200);
    const refused = await ask(`GET ${at}`, undefined, "member");
    assert.equal(refused.status, 403);
    assert.match(said(refused), /mogan:server:get$/);
    assert.equal((await ask(`GET ${at}`, undefined, null)).status, 401);
    assert.equal((await ask(`DELETE ${at}`)).status, 404);
    // An allocation of somebody else is no server of ours, nor is one whose node has another by now.
    cloud.allocations.set(uuidOf(8, 1), { uuid: uuidOf(8, 1), node_uuid: NODE, state: "active" });
    for (const other of [uuidOf(8, 1), uuidOf(8, 2), "web-1", "manage"])
      assert.equal((await ask(`GET /v1/servers/${other}`)).status, 404, other);
    node().instance_uuid = uuidOf(8, 1);
    assert.equal((await ask(`GET ${at}`)).status, 404);
  }
});

test("C-1: of six nodes the first and the last are listed, with the port that an attach wrote first", async (t) => {
  const { cloud, node, list, manages } = await servedScene(t, 6);
  node(2).instance_uuid = uuidOf(9, 2);
  node(3).resource_class = null;
  node(4).provision_state = "available";
  node(5).maintenance = true;
  // Written by hand once, and by an attach since; one written by hand alone; none.
  Object.assign(cloud.ports.get(uuidOf(2, 1)) ?? {}, { extra: { vif_port_id: uuidOf(3, 9) } });
  Object.assign(cloud.ports.get(uuidOf(2, 6)) ?? {}, { internal_info: {} });
  addBond(cloud, 6, { address: macOf(6), extra: { vif_port_id: uuidOf(3, 6) } });
  // A card of the bond has no VIF; the bond is what is named.
  const told = (kind: "ports" | "portgroups", uuid: string, vif_port_id: string | null) => ({
    ...{ uuid, vif_port_id, href: `${cloud.ironic}/v1/${kind}/${uuid}`, rel: "self" },
  });
  // One without a VIF: nothing of it is to be named.
  addBond(cloud, 6, { uuid: uuidOf(4, 7) });
  const first = await list();
  assert.deepEqual(
    first.map(({ uuid, ports }) => [uuid, ports]),
    [
      [NODE, [told("ports", uuidOf(2, 1), uuidOf(3, 1))]],
      [
        uuidOf(1, 6),
        [told("ports", uuidOf(2, 6), null), told("portgroups", uuidOf(4, 6), uuidOf(3, 6))],
      ],
    ],
  );
  // What is listed can be named.
  for (const { uuid: node_uuid, ports } of first) {
    const networks = ports.flatMap(({ vif_port_id }) =>
      vif_port_id === null ? [] : [{ port_id: vif_port_id }],
    );
    await manages({ ...BODY, node_uuid, networks, name: `web-${node_uuid}` });
  }
});

test("one login at Glance lasts, and an image is known by its id, or by a name that it alone has", async (t) => {
  const { ask, cloud, node, manages } = await servedScene(t, 7, { login: true });
  for (const [index, name] of ["debian", "alike", "alike", "retired"].entries()) {
    const [id, status] = [uuidOf(5, index + 1), name === "retired" ? "deactivated" : "active"];
    cloud.images.set(id, { id, name, status, disk_format: "raw" });
  }
  const logins = (): number => cloud.calls.filter((call) => call.includes("/v3/auth")).length;
  let before = 0;
  const sources = [uuidOf(5, 1), "debian", `glance://${uuidOf(5, 1)}`];
  const unknown = ["alike", "retired", "http://debian"];
  for (const [index, image_source] of [...sources, ...unknown].entries()) {
    node(index + 1).instance_info = { image_source };
    const made = await manages(bodyOf(index + 1));
    const id = sources.includes(image_source) ? uuidOf(5, 1) : null;
    assert.equal(made.body.image_uuid, id, image_source);
    if (index === 0) before = logins();
    assert.equal(logins(), before, "logged in once");
  }
  // Its token has ended: it has another, and asks again.
  const asked = cloud.fail(/v2.images/, instead(401, ""), 1);
  node(7).instance_info = { image_source: "debian" };
  const last = await manages(bodyOf(7));
  assert.deepEqual([last.body.image_uuid, asked() > 1], [uuidOf(5, 1), true]);
  assert.equal(logins(), before + 1);
  // What Glance does not answer is told as unknown.
  cloud.fail(/\/v2\/images/, instead(403, ""));
  const path = `GET /v1/servers/${String(last.body.uuid)}`;
  assert.equal((await ask(path)).body.image_uuid, null);
});

/** A service each, what it answers whom it serves, and the rule that says whom. */
const SERVICES = [
  {
    what: "manageable",
    rule: "mogan:manageable_servers:get_all",
    path: "/v1/adoptable_nodes",
    status: 200,
    folder: "--run",
    more: ["--json"],
    also: "; C-12: with --json each POST has its two events on stderr",
    logged: /^\{.*"path":"\/v1\/adoptable_nodes","status":403,.*\}$/m,
  },
  {
    what: "switchover",
    rule: "baremetal:node:switchover",
    path: `/v1/nodes/${uuidOf(1, 1)}/switchover`,
    status: 404,
    folder: "--state",
    more: [],
    also: "",
    logged: /^GET \/v1\/nodes\/\S+\/switchover 403 /m,
  },
] as const;
for (const { what, rule, path, status, folder: option, more, also, logged } of SERVICES)
  test(`serve ${what}: SIGHUP reads the policy again and ends nothing${also}`, async (t) => {
    const [cloud, keystone] = [await inMemory(t), await standInKeystone(t)];
    const folder = privateFolder(t);
    addRunning(cloud, 1);
    keystone.tokens.set("admin", { roles: ["admin"] });
    const file = join(folder, "policy.yaml");
    writeFileSync(file, "{}\n");
    const where = [
      "--keystone-url",
      keystone.url,
      "--policy-file",
      file,
      option,
      join(folder, "own"),
    ];
    const words = ["serve", what, "--listen", "127.0.0.1:0", ...cloud.words, ...where, ...more];
    const started = start(words, cloud.how);
    t.after(() => started.signal("SIGKILL"));
    const [, url = ""] = await started.heard(/listening on ([^ ,]+),? /);
    const headers = { "X-Auth-Token": "admin", "X-OpenStack-Ironic-API-Version": "1.82" };
    const ask = async () => (await fetch(url + path, { headers })).status;
    assert.equal(await ask(), status);
    if (what === "manageable") await eventsOfTwo(url, headers, started);
    writeFileSync(file, `"${rule}": "!"\n`);
    started.signal("SIGHUP");
    await started.said("was reloaded, and its rules are in effect");
    assert.equal(await ask(), 403);
    writeFileSync(file, "{");
    started.signal("SIGHUP");
    await started.heard(/was not reloaded, and the previous rules remain in effect: .*not YAML/);
    assert.equal(await ask(), 403);
    started.signal("SIGTERM");
    const ended = await started.ended;
    assert.equal(ended.status, 143, ended.err);
    assert.match(ended.err, logged);
  });

/** One machine that is managed and one that is not there, each with its two events. */
async function eventsOfTwo(
  url: string,
  headers: Readonly<Record<string, string>>,
  { heard }: ReturnType<typeof start>,
): Promise<void> {
  for (const [node_uuid, status, event] of [
    [NODE, 201, "manage.end"],
    [uuidOf(1, 9), 404, "manage.error"],
  ] as const) {
    const body = JSON.stringify({ ...BODY, node_uuid });
    const made = await fetch(`${url}/v1/servers/manage`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body,
    });
    assert.equal(made.status, status);
    const { uuid = null } = (await made.json()) as { readonly uuid?: string };
    const line = (name: string) =>
      heard(new RegExp(`^\\{.*"event":"${name}".*${node_uuid}.*\\}$`, "m"));
    const about = { node: node_uuid, name: "web-1", server: uuid };
    for (const name of ["manage.start", event]) {
      const { v, ts, type, why, ...told } = objectOf(parsedJson((await line(name))[0]));
      assert.deepEqual([v, type, told], [1, "item", { event: name, ...about }]);
      assert.match(String(ts), /^\d{4}-.*Z$/);
      assert.equal(typeof why, name === "manage.error" ? "string" : "undefined");
    }
  }
}
