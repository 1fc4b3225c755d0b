import { setTimeout as sleep } from "node:timers/promises";
import { type Api, apiOf } from "../lab/ironic/api.ts";

/** Uuids of a machine that boots from a volume, of its spare, and of what hangs on it. */
export interface Pair {
  readonly source: string;
  readonly spare: string;
  readonly instance: string;
  readonly connector: string;
  readonly target: string;
}

type Body = { readonly [field: string]: unknown };

/**
 * A machine that boots from a volume, and a spare like it, on fake hardware of a real Ironic.
 *
 * @param at names both: `n-3` and `s-3`
 * @param enrolled the spare is that, and no more
 */
export async function paired(ironic: Api, at: number, enrolled = false): Promise<Pair> {
  const pair = pairAt(at);
  const { source, spare, instance, connector, target } = pair;
  const { tell, goes, power } = telling(ironic);
  for (const [node, name] of [
    [source, `n-${at}`],
    [spare, `s-${at}`],
  ] as const) {
    await tell("POST", "/v1/nodes", {
      ...{ uuid: node, name, driver: "fake-hardware", resource_class: "gold" },
      ...{ storage_interface: "external", description: node === source ? "a shop" : null },
      properties: { cpus: 4, memory_mb: 8192, capabilities: "iscsi_boot:True" },
    });
    if (enrolled && node === spare) continue;
    await goes(node, "manage", "manageable");
    await power(node, "power off");
  }
  const path = [{ op: "add", path: "/automated_clean", value: false }];
  await tell("PATCH", `/v1/nodes/${source}`, path);
  await goes(source, "provide", "available");
  await goes(source, "active", "active");
  const record = { uuid: instance, name: `web-${at}`, node: source, resource_class: "gold" };
  await tell("POST", "/v1/allocations", record);
  await power(source, "power off");
  const iqn = { type: "iqn", connector_id: `iqn.2026-01.org.example:n-${at}` };
  await tell("POST", "/v1/volume/connectors", { uuid: connector, node_uuid: source, ...iqn });
  await tell("POST", "/v1/volume/targets", {
    ...{ uuid: target, node_uuid: source, volume_type: "iscsi", boot_index: 0 },
    ...{ volume_id: `v-${at}`, properties: {} },
  });
  await power(source, "power on");
  return pair;
}

export function pairAt(at: number): Pair {
  const uuid = (kind: number): string =>
    `${String(kind).repeat(8)}-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const [source, spare, instance, connector, target] = [1, 2, 3, 4, 5].map(uuid) as [
    ...[string, string, string, string, string],
  ];
  return { source, spare, instance, connector, target };
}

const LOOK_MS = 50;
const PATIENCE_MS = 60_000;

/** Waits until a node has these values. */
export async function until(ironic: Api, node: string, wanted: Body): Promise<Body> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const { body } = await apiOf(ironic)("GET", `/v1/nodes/${node}`);
    const now = body as Body;
    if (Object.entries(wanted).every(([field, value]) => now[field] === value)) return now;
    if (waited > PATIENCE_MS)
      throw new Error(`never ${JSON.stringify(wanted)}: ${JSON.stringify(now)}`);
    await sleep(LOOK_MS);
  }
}

/** Calls that wait for a node's lock. */
function telling(ironic: Api) {
  const tell = async (method: string, path: string, body: unknown): Promise<void> => {
    for (let waited = 0; ; waited += LOOK_MS) {
      const { status, body: said } = await apiOf(ironic)(method, path, body);
      if (status < 300) return;
      if (status !== 409 || waited > PATIENCE_MS)
        throw new Error(`${path}: ${JSON.stringify(said)}`);
      await sleep(LOOK_MS);
    }
  };
  const goes = async (node: string, word: string, state: string): Promise<void> => {
    await tell("PUT", `/v1/nodes/${node}/states/provision`, { target: word });
    await until(ironic, node, { provision_state: state, reservation: null });
  };
  const power = async (node: string, target: string): Promise<void> => {
    await tell("PUT", `/v1/nodes/${node}/states/power`, { target });
    await until(ironic, node, { power_state: target, reservation: null });
  };
  return { tell, goes, power };
}
