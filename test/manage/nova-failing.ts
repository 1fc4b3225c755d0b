import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runs } from "../hostile/cli.ts";
import { ironicFault } from "../lab/ironic/faulty.ts";
import { type Chosen, failingProxies } from "./failing-proxies.ts";
import { hardwareOf, type NovaScene, nodeOf } from "./nova-scene.ts";

/**
 * By the name of its run, and of its server: every answer is lost, or every other call is answered with 500. A call that
 * is refused is answered by the proxy: nova-copies.test has each of those, and its way back.
 */
const FAILS: { readonly [run: string]: Chosen } = {
  lost: () => ({ do: "lost" }),
  failed: (line, before) =>
    before.at(-1) === `failed ${line}` ? null : ironicFault(500, "the database went away"),
};

/**
 * A machine each, at once, by proxies before the real Ironic, Nova and Neutron: whatever a call comes to, it has its
 * server on its own hardware; then its server is taken away, amid the same faults.
 */
export async function failing(t: TestContext, at: NovaScene): Promise<void> {
  // The first machine has other things to do.
  const all = Object.entries(FAILS).map((one, index) => fails(t, at, one, index + 1));
  // One that is not as it should be is told once nobody works with the proxies any more.
  await Promise.allSettled(all);
  await Promise.all(all);
}

async function fails(
  t: TestContext,
  at: NovaScene,
  [run, fault]: readonly [string, Chosen],
  nth: number,
): Promise<void> {
  const [name, machine] = [`n-${nth}`, at.machines[nth] ?? assert.fail()];
  const before = await nodeOf(at, machine);
  const { words, env, failed } = await proxied(t, at, fault);
  const place = ["--run", join(at.folder, run), ...words];
  const asked = ["node", "manage", name, run, ...place, "--nova", "--flavor", "bm", "--watch", "3"];
  const ran = await runs(0, asked, { env });
  const node = await nodeOf(at, machine);
  const now = [node.provision_state, node.maintenance, node.power_state, node.protected];
  assert.deepEqual(now, ["active", false, "power on", before.protected], `${run}: ${ran.err}`);
  assert.deepEqual(hardwareOf(node), hardwareOf(before), run);
  assert.notEqual(node.instance_uuid, null, run);
  for (const service of ["v1/nodes", "v2.1/servers", "v2.0/ports"])
    assert.ok(failed().join().includes(service), `${run}: ${service}`);
  const back =
    run === "lost" ? ["node", "unmanage", name, ...place] : ["rollback", ...place, "--all"];
  await runs(0, [...back, "--yes"], { env });
}

/** The same cloud behind proxies, which fail calls once a machine stands on fake hardware. */
async function proxied(t: TestContext, { stack, words, env }: NovaScene, fault: Chosen) {
  const isFake = (line: string): boolean => line.endsWith("reset_interfaces=true");
  const { before, failed } = failingProxies(t, (line, lines) =>
    isFake(line) || lines.some(isFake) ? fault(line, lines) : null,
  );
  const own = await before(stack.ironic.url);
  return {
    words: words.map((word) => (word === stack.ironic.url ? own : word)),
    env: {
      ...env,
      OS_COMPUTE_ENDPOINT_OVERRIDE: `${await before(stack.nova.url)}/v2.1`,
      OS_NETWORK_ENDPOINT_OVERRIDE: await before(stack.neutron.url),
    },
    failed,
  };
}
