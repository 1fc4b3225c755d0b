import { MigrationError } from "../../lib/error.ts";
import type { Machine } from "../../model/machine.ts";
import type { MachineOf, PowerReading } from "../../model/power.ts";
import type { openSnapshot } from "../../run/run.ts";

type Snapshot = Awaited<ReturnType<typeof openSnapshot>>;

/** Machines to query: all without a reading, failed ones or named ones. */
export interface Selection {
  /** Verdicts of their last readings, or `failed` for all except ok. */
  readonly only: readonly string[] | null;
  readonly nodes: readonly string[];
  /** service_host of their nova-computes. */
  readonly hosts: readonly string[];
}

/** Whether only some machines are queried. Readings of the others are kept. */
export function isPart({ only, nodes, hosts }: Selection): boolean {
  return only !== null || nodes.length > 0 || hosts.length > 0;
}

/** Whether the last reading of a machine selects it. */
export function isAgain({ only }: Selection, reading: PowerReading | undefined): boolean {
  if (only === null) return true;
  const { verdict } = reading ?? { verdict: "failed" };
  return only.includes(verdict) || (verdict !== "ok" && only.includes("failed"));
}

/** Selected bm_nodes.ids. Null: all. @throws MigrationError N2I-E306 for an unknown name */
export async function idsOf(
  snapshot: Snapshot,
  { nodes, hosts }: Selection,
): Promise<ReadonlySet<number> | null> {
  if (nodes.length === 0 && hosts.length === 0) return null;
  const named = new Set(nodes.map((text) => text.toLowerCase()));
  const unfound = new Set([...named, ...hosts]);
  const found = new Set<number>();
  for await (const batch of snapshot.lines())
    for (const line of batch) {
      if ("orphan" in line) continue;
      const { id, uuid, service_host } = line.node;
      const names = [String(id), uuid?.toLowerCase() ?? ""].filter((name) => named.has(name));
      const host = hosts.includes(service_host ?? "") ? [service_host ?? ""] : [];
      for (const found of [...names, ...host]) unfound.delete(found);
      if ((nodes.length === 0 || names.length > 0) && (hosts.length === 0 || host.length > 0))
        found.add(id);
    }
  if (unfound.size > 0)
    throw new MigrationError(
      "N2I-E306",
      `${[...unfound].map((name) => JSON.stringify(name)).join(", ")} is not in the snapshot`,
    );
  return found;
}

/** @param wanted bm_nodes.ids. Null: all */
export async function machinesOf(
  snapshot: Snapshot,
  wanted: ReadonlySet<number> | null,
): Promise<ReadonlyMap<number, MachineOf>> {
  const found = new Map<number, MachineOf>();
  if (wanted?.size === 0) return found;
  for await (const batch of snapshot.lines())
    for (const line of batch) {
      if ("orphan" in line || wanted?.has(line.node.id) === false) continue;
      found.set(line.node.id, machineOf(line));
    }
  return found;
}

/** The names of a machine for people. */
export function machineOf({ node, nova }: Pick<Machine, "node" | "nova">): MachineOf {
  const { uuid, pm_address: address, service_host: host, instance_uuid: instance } = node;
  const name = nova?.instance?.display_name ?? node.instance_name;
  return { uuid, name, address, host, instance };
}
