import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runs } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { ironicFault } from "../lab/ironic/faulty.ts";
import { type Chosen, failingProxies } from "./failing-proxies.ts";
import { uuidOf } from "./in-memory.ts";
import type { RealScene } from "./real-served.ts";

/**
 * Calls that fail before the real Ironic and Neutron, of two machines at once: each is made again, or nothing stays of its
 * machine.
 */
export async function failedForReal(t: TestContext, at: RealScene): Promise<void> {
  await Promise.all([
    (async () => {
      await goesOn(t, at, "lost", () => ({ do: "lost" }));
      await goesOn(t, at, "failed", (line, before) =>
        before.at(-1) === `failed ${line}` ? null : ironicFault(500, "the database went away"),
      );
    })(),
    endsInError(t, at),
  ]);
}

/** Whatever its calls come to, it has its record, and loses it again. */
async function goesOn(t: TestContext, at: RealScene, run: string, fault: Chosen): Promise<void> {
  const { words, env, failed } = await proxied(t, at, run, fault);
  await runs(0, ["node", "manage", "n-1", `web-${run}`, ...words], { env });
  for (const service of ["v1/nodes", "v1/allocations", "v2.0/ports"])
    assert.ok(
      failed().some((line) => line.includes(service)),
      `${run}: ${service}`,
    );
  await runs(0, ["verify", ...words], { env });
  await runs(0, ["rollback", ...words, "--all", "--yes"], { env });
}

/** Its class is changed right before Ironic makes the allocation, which ends in `error` and stays until it is deleted. */
async function endsInError(t: TestContext, at: RealScene): Promise<void> {
  const db = connect({ ...(await needs("mysql")), database: at.ironic.database });
  const classed = (resource_class: string) =>
    db("nodes")
      .where({ uuid: uuidOf(1, 6) })
      .update({ resource_class });
  let states: readonly unknown[] = [];
  try {
    const { words, env } = await proxied(t, at, "error", async (line) => {
      if (line === "POST /v1/allocations") await classed("silver");
      if (line.startsWith("DELETE /v1/allocations")) {
        const { body } = await apiOf(at.ironic)("GET", `/v1${line.split("/v1")[1]}`);
        states = [...states, (body as { readonly state: unknown }).state];
      }
      return null;
    });
    const asked = ["node", "manage", "n-6", "web-error", ...words, "-f", "value", "-c", "Why"];
    const { out } = await runs(4, asked, { env });
    assert.match(out, /silver.*taken back, nothing stays/s);
  } finally {
    await classed("gold");
    await db.destroy();
  }
  assert.deepEqual(states, ["error"]);
}

/** The same services behind proxies. */
async function proxied(t: TestContext, at: RealScene, run: string, choose: Chosen) {
  const { before, failed } = failingProxies(t, choose);
  return {
    words: ["--run", join(at.folder, `fails-${run}`), "--ironic-url", await before(at.ironic.url)],
    env: { ...at.env, OS_NETWORK_ENDPOINT_OVERRIDE: await before(at.neutron.url) },
    failed,
  };
}
