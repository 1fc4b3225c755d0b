import { randomUUID } from "node:crypto";
import type { IpmiSim } from "../../test/lab/bmc/sims.ts";
import type { IronicServer } from "../../test/lab/ironic/start.ts";
import { unknownClass } from "./base.ts";
import type { Fleet } from "./seen.ts";
import type { Stack } from "./stack.ts";
import { until } from "./wait.ts";

const VERSION = { "X-OpenStack-Ironic-API-Version": "1.80", "Content-Type": "application/json" };

export interface Newcomers {
  readonly ironic: IronicServer;
  readonly sim: IpmiSim;
  /** The password of each BMC, in the simulator's order. */
  readonly secrets: readonly string[];
  readonly resource_class: string;
  /** Glance's ids of what deploys. */
  readonly images: Fleet["images"]["new"];
}

/** Machines as an operator of Ironic brings them in, up to available; their uuids in the simulator's order. */
export async function enroll(
  stack: Pick<Stack, "cloud" | "db">,
  { ironic, sim, secrets, resource_class, images }: Newcomers,
): Promise<readonly string[]> {
  const asks = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await fetch(`${ironic.url}/v1${path}`, {
      method,
      headers: { ...VERSION, "X-Auth-Token": stack.cloud.token },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  };
  const [deploy_kernel, deploy_ramdisk] = images;
  const uuids = sim.addresses.map(() => randomUUID());
  const nodes = stack.db(ironic.database)("nodes");
  const reached = (state: string): Promise<number> =>
    until(`new machines are ${state}`, async () => {
      const rows: readonly { uuid: string }[] = await nodes
        .clone()
        .where({ provision_state: state });
      return rows.length === uuids.length ? null : `${rows.length} are`;
    });
  for (const [at, uuid] of uuids.entries()) {
    await asks("POST", "/nodes", {
      ...{ uuid, driver: "ipmi", resource_class },
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

/** Waits until Nova's scheduler can give so many machines of a host to tenants. */
export async function offered(
  { asks, db }: Pick<Stack, "asks" | "db">,
  { host, resources, machines }: { host: string; resources: string; machines: number },
): Promise<void> {
  await until(`Nova offers the machines of ${host}`, async () => {
    const mapped = await db("nova_api")("host_mappings").where({ host });
    if (mapped.length === 0) return "the host is not mapped";
    const path = `/allocation_candidates?resources=${resources}:1`;
    const all = await asks<{ readonly allocation_requests: readonly unknown[] }>(
      ...(["placement", "GET", path] as const),
    ).catch(unknownClass);
    const count = all?.allocation_requests.length ?? 0;
    return count === machines ? null : `Placement has ${count} of ${machines}`;
  });
}
