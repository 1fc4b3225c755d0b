import type { Api } from "../lab/ironic/api.ts";
import { telling } from "../lab/ironic/telling.ts";

/** Uuids of a machine that boots from a volume, of its spare, and of what hangs on it. */
export type Pair = ReturnType<typeof pairAt>;

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

export function pairAt(at: number) {
  const uuid = (kind: number): string =>
    `${String(kind).repeat(8)}-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const [source, spare, instance, connector, target] = [1, 2, 3, 4, 5].map(uuid) as [
    ...[string, string, string, string, string],
  ];
  return { source, spare, instance, connector, target };
}
