import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { type IpmiSim, startIpmiSim } from "../../test/lab/bmc/sims.ts";
import { tool } from "../../test/lab/bmc/tools.ts";
import { startCompute } from "../../test/lab/cloud/nova.ts";
import type { IronicServer } from "../../test/lab/ironic/start.ts";
import { newPassword } from "../../test/lab/server.ts";
import { machinesOf, startAgents } from "./agent.ts";
import { unknownClass } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import { startImages } from "./images.ts";
import { until } from "./wait.ts";

const HOST = "fresh-compute";
const CLASS = "fresh";
/** Its flavor. */
export const FRESH = "fresh";
/** Tests leave servers where they are until their class ends: six at once. */
const MACHINES = 6;
const VERSION = { "X-OpenStack-Ironic-API-Version": "1.80", "Content-Type": "application/json" };

/** An Ironic whose machines were never anything else's, with a nova-compute of its own. */
export interface Fresh {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a second Ironic beside the migrated one, enrolls machines in it by its API, and lets the
 * same Nova offer them by another flavor: what a test does there is what it does natively.
 */
export async function startFresh(deployment: Deployment): Promise<Fresh> {
  const { stack } = deployment;
  const ends: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const images = await startImages();
    ends.push(images.stop);
    const ironic = await stack.anotherIronic(images.url);
    ends.push(ironic.stop);
    images.serve(join(dirname(ironic.log), "http"));
    const secrets = Array.from({ length: MACHINES }, () => newPassword().slice(0, 16));
    const bmcs = secrets.map((password) => ({ power: false, password }));
    const sim = await startIpmiSim(tool("ipmi_sim") ?? "", bmcs);
    ends.push(sim.stop);
    const uuids = await enroll(deployment, ironic, sim, secrets);
    const nodes = stack.db(ironic.database);
    const agents = await startAgents(ironic.url, machinesOf(sim, uuids), async (states) => {
      const rows: readonly { uuid: string }[] = await nodes("nodes").whereIn(
        "provision_state",
        states,
      );
      return rows.map(({ uuid }) => uuid);
    });
    ends.push(agents.stop);
    const conf = stack.nova.computeConf(HOST, {
      DEFAULT: { compute_driver: "ironic.IronicDriver", update_resources_interval: stack.period },
      ironic: { endpoint_override: ironic.url, ...apart(HOST) },
    });
    const compute = startCompute(conf, null);
    ends.push(() => compute.stop(join(deployment.files.folder, "nova-compute-fresh.log")));
    await offer(deployment);
    return { url: ironic.url, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/**
 * Options of a nova-compute that is the only one of its Ironic: all that have the ironic driver share
 * nodes between them otherwise.
 */
export function apart(host: string): { readonly [option: string]: string } {
  return { partition_key: "", peer_list: host };
}

/** Machines as an operator of Ironic brings them in, up to available; their uuids in the simulator's order. */
async function enroll(
  { stack, fleet }: Deployment,
  ironic: IronicServer,
  sim: IpmiSim,
  secrets: readonly string[],
): Promise<readonly string[]> {
  const asks = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await fetch(`${ironic.url}/v1${path}`, {
      method,
      headers: { ...VERSION, "X-Auth-Token": stack.cloud.token },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  };
  const [deploy_kernel, deploy_ramdisk] = fleet.images.new;
  const uuids = sim.addresses.map(() => randomUUID());
  const nodes = stack.db(ironic.database)("nodes");
  const reached = (state: string): Promise<number> =>
    until(`new machines are ${state}`, 120, async () => {
      const rows: readonly { uuid: string }[] = await nodes.clone().where({
        provision_state: state,
      });
      return rows.length === uuids.length ? null : `${rows.length} are`;
    });
  for (const [at, uuid] of uuids.entries()) {
    await asks("POST", "/nodes", {
      ...{ uuid, driver: "ipmi", resource_class: CLASS },
      driver_info: {
        ...{ ipmi_address: sim.addresses[at], ipmi_username: "admin", ipmi_password: secrets[at] },
        ...{ ipmi_cipher_suite: "3", deploy_kernel, deploy_ramdisk },
      },
      properties: { cpus: 4, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" },
    });
    const address = `52:54:00:00:01:${at.toString(16).padStart(2, "0")}`;
    await asks("POST", "/ports", { node_uuid: uuid, address });
    await asks("PUT", `/nodes/${uuid}/states/provision`, { target: "manage" });
  }
  await reached("manageable");
  for (const uuid of uuids)
    await asks("PUT", `/nodes/${uuid}/states/provision`, { target: "provide" });
  await reached("available");
  return uuids;
}

/** A flavor for them, once Placement has them. */
async function offer({ stack }: Deployment): Promise<void> {
  const flavor = { id: FRESH, name: FRESH, vcpus: 4, ram: 4096, disk: 40 };
  await stack.asks("nova", "POST", "/flavors", { flavor });
  const extra_specs = {
    cpu_arch: "x86_64",
    [`resources:CUSTOM_${CLASS.toUpperCase()}`]: "1",
    ...{ "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0" },
  };
  await stack.asks("nova", "POST", `/flavors/${FRESH}/os-extra_specs`, { extra_specs });
  await until("Nova offers the new machines", 180, async () => {
    const mapped = await stack.db("nova_api")("host_mappings").where({ host: HOST });
    if (mapped.length === 0) return "the host is not mapped";
    const all = await stack
      .asks<{ readonly allocation_requests: readonly unknown[] }>(
        "placement",
        "GET",
        `/allocation_candidates?resources=CUSTOM_${CLASS.toUpperCase()}:1`,
      )
      .catch(unknownClass);
    const count = all?.allocation_requests.length ?? 0;
    return count === MACHINES ? null : `Placement has ${count} of ${MACHINES}`;
  });
}
