import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runs } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { failingProxies } from "./failing-proxies.ts";
import { uuidOf } from "./in-memory.ts";
import type { RealScene } from "./real-served.ts";

/** Its class is changed right before Ironic makes the allocation, which ends in `error` and stays until it is deleted. */
export async function endsInError(t: TestContext, at: RealScene): Promise<void> {
  const db = connect({ ...(await needs("mysql")), database: at.ironic.database });
  const classed = (resource_class: string) =>
    db("nodes")
      .where({ uuid: uuidOf(1, 6) })
      .update({ resource_class });
  let states: readonly unknown[] = [];
  try {
    const { before } = failingProxies(t, async (line) => {
      if (line === "POST /v1/allocations") await classed("silver");
      if (line.startsWith("DELETE /v1/allocations")) {
        const { body } = await apiOf(at.ironic)("GET", `/v1${line.split("/v1")[1]}`);
        states = [...states, (body as { readonly state: unknown }).state];
      }
      return null;
    });
    const run = ["--run", join(at.folder, "fails"), "--ironic-url", await before(at.ironic.url)];
    const env = { ...at.env, OS_NETWORK_ENDPOINT_OVERRIDE: await before(at.neutron.url) };
    const asked = ["node", "manage", "n-6", "web-error", ...run, "-f", "value", "-c", "Why"];
    const { out } = await runs(4, asked, { env });
    assert.match(out, /silver.*taken back, nothing stays/s);
  } finally {
    await classed("gold");
    await db.destroy();
  }
  assert.deepEqual(states, ["error"]);
}
