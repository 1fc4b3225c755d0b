import { dirname, join } from "node:path";
import { startIpmiSim } from "../../test/lab/bmc/sims.ts";
import { tool } from "../../test/lab/bmc/tools.ts";
import { startCompute } from "../../test/lab/cloud/nova.ts";
import { newPassword } from "../../test/lab/server.ts";
import { machinesOf, startAgents, waitingIn } from "./agent.ts";
import type { Deployment } from "./deployment.ts";
import { enroll, offered } from "./enroll.ts";
import { startImages } from "./images.ts";

const HOST = "fresh-compute";
const CLASS = "fresh";
/** Its flavor. */
export const FRESH = "fresh";
/** Tests leave servers where they are until their class ends: six at once. */
const MACHINES = 6;

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
    const own = {
      ironic,
      sim,
      secrets,
      resource_class: CLASS,
      images: deployment.fleet.images.new,
    };
    const uuids = await enroll(stack, own);
    const waiting = waitingIn(stack.db(ironic.database));
    const agents = await startAgents(ironic.url, machinesOf(sim, uuids), waiting);
    ends.push(agents.stop);
    const conf = stack.nova.computeConf(HOST, {
      DEFAULT: {
        compute_driver: "ironic.IronicDriver",
        update_resources_interval: stack.period,
        sync_power_state_interval: stack.powerSync,
      },
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
  const resources = `CUSTOM_${CLASS.toUpperCase()}`;
  await offered(stack, { host: HOST, resources, machines: MACHINES });
}
