import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { macOf, uuidOf } from "./in-memory.ts";

type Api = ReturnType<typeof apiOf>;

const NODE = uuidOf(1, 1);
const AT = `/v1/nodes/${NODE}`;
const PACE_MS = 200;

test("a machine that runs goes from one Ironic to another, and is managed in each", async (t) => {
  const [here, there] = await Promise.all([withIronic(t, "mysql"), withIronic(t, "mysql")]);
  if (here === null || there === null) return;
  const folder = privateFolder(t);
  const record = async (url: string, name: string): Promise<void> => {
    const words = ["--ironic-url", url, "-f", "json"];
    const { out } = await runs(0, ["node", "list", "--adoptable", ...words]);
    assert.match(out, new RegExp(NODE));
    await runs(0, ["node", "manage", "n-1", name, "--run", join(folder, name), ...words]);
  };
  const [old, other] = [apiOf(here), apiOf(there)];
  await adopted(old);
  await record(here.url, "web-there");
  // As the page has it: a row is deleted, and its allocation with it.
  assert.equal((await old("DELETE", AT)).status, 409, "not without maintenance");
  await done(old, "PUT", `${AT}/maintenance`, { reason: "goes to another cloud" });
  assert.equal((await fieldsOf(old)).power_state, "power on");
  await done(old, "DELETE", AT);
  const { body } = await old("GET", "/v1/allocations");
  assert.deepEqual((body as { readonly allocations: unknown }).allocations, []);
  await adopted(other);
  await record(there.url, "web-here");
  const { provision_state, power_state, instance_uuid } = await fieldsOf(other);
  assert.deepEqual([provision_state, power_state], ["active", "power on"]);
  assert.notEqual(instance_uuid, null);
});

/** A node as its operator creates it of a machine that runs. */
async function adopted(api: Api): Promise<void> {
  const fake = { driver: "fake-hardware", deploy_interface: "fake", boot_interface: "fake" };
  const more = { name: "n-1", resource_class: "gold" };
  await done(api, "POST", "/v1/nodes", { uuid: NODE, ...fake, ...more });
  await done(api, "POST", "/v1/ports", { node_uuid: NODE, address: macOf(1) });
  await done(api, "PUT", `${AT}/states/provision`, { target: "manage" });
  await until(api, "provision_state", "manageable");
  await done(api, "PUT", `${AT}/states/power`, { target: "power on" });
  await until(api, "power_state", "power on");
  await done(api, "PUT", `${AT}/states/provision`, { target: "adopt" });
  await until(api, "provision_state", "active");
}

async function done(api: Api, method: string, path: string, body?: unknown): Promise<void> {
  for (;;) {
    const answer = await api(method, path, body);
    if (answer.status < 300) return;
    // A conductor has the node for a moment.
    assert.match(JSON.stringify(answer.body), /is locked by host/);
    await sleep(PACE_MS);
  }
}

async function until(api: Api, field: string, wanted: string): Promise<void> {
  for (;;) {
    const node = await fieldsOf(api);
    if (node[field] === wanted) return;
    assert.doesNotMatch(String(node.provision_state), /failed|error/, String(node.last_error));
    await sleep(PACE_MS);
  }
}

async function fieldsOf(api: Api): Promise<{ readonly [field: string]: unknown }> {
  return (await api("GET", AT)).body as { readonly [field: string]: unknown };
}
