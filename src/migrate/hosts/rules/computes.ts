import { objectOf } from "../../../lib/json.ts";
import { counted, show } from "../../../lib/text.ts";
import type { ServerIdentity } from "../../../model/artefact.ts";
import type { ComputeLocation, ComputeSize, InstanceRow } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import type { NovaTally } from "../../verify/rules/used.ts";
import type { Choice } from "./choice.ts";

/** Column of a compute node, and the machine property with its value. */
const SIZES = [
  ["vcpus", "cpus"],
  ["memory_mb", "memory_mb"],
  ["local_gb", "local_gb"],
] as const;

/** By UUID of the machine, lower case. */
type OfMachines<T> = (uuids: readonly string[]) => Promise<ReadonlyMap<string, T>>;
type ByMachine<T> = OfMachines<readonly T[]>;

/** Current rows of machines and instances in Nova and Placement, by UUID in lower case. */
export interface NovaNow {
  /** The server, because collations compare UUIDs differently. */
  readonly nova: Pick<ServerIdentity, "engine">;
  readonly instancesOf: OfMachines<InstanceRow>;
  readonly onNodes: ByMachine<Pick<InstanceRow, "uuid" | "task_state">>;
  readonly locationsOf: ByMachine<ComputeLocation>;
  readonly computesOf: ByMachine<ComputeSize>;
  /** Ids of compute nodes that were deleted since the plan. */
  readonly deletedOf: ByMachine<number>;
  /** Null without a Placement database, and so is `allocatedOf`. */
  readonly providersOf: OfMachines<MachineProvider> | null;
  readonly allocatedOf: ((instances: readonly string[]) => Promise<ReadonlySet<string>>) | null;
  /** The reason why a host must offer its machines. Null if its nova-compute may not have run. */
  readonly expects: (host: string | null) => string | null;
}

export interface ComputeFault {
  readonly machine: string | null;
  readonly fault: string;
  /** Nova is changing the compute node. */
  readonly moving?: boolean;
}

/** Maximum number of machines without a compute node that are listed one by one. */
const MAX_MACHINES = 1000;
const NONE = "no live compute node of the ironic driver";

/**
 * Faults of live compute nodes, batch by batch. `end` returns faults that depend on all machines.
 * Each machine needs a compute node once the new nova-compute has run, or if any machine has one of
 * the ironic driver.
 * @param planned compute nodes that the plan deletes
 * @source facts/systems.md D-14, D-15; facts/rehearsal.md 4
 */
export function createComputesAudit(
  now: Pick<NovaNow, "computesOf" | "deletedOf" | "providersOf" | "expects">,
  choice: Choice,
  tally: Pick<NovaTally, "hypervisors" | "providers" | "awaited">,
  planned: ReadonlySet<number>,
) {
  let started = false;
  const without: (string | null)[] = [];
  let more = 0;
  return {
    async *faults(batch: readonly PlannedMachine[]): AsyncGenerator<ComputeFault> {
      const lines = batch.filter(({ records }) => nodeOf(records) !== undefined);
      const uuids = lines.flatMap(({ uuid }) => uuid ?? []);
      const found = await now.computesOf(uuids);
      const deleted = await now.deletedOf(uuids);
      const providers = (await now.providersOf?.(uuids)) ?? null;
      for (const line of lines) {
        const machine = line.uuid;
        const key = machine?.toLowerCase() ?? "";
        const rows = found.get(key) ?? [];
        const has = rows.some(({ hypervisor_type }) => hypervisor_type === "ironic");
        started ||= has;
        for (const fault of computeFaults(line, rows)) yield { machine, fault };
        const ids = (deleted.get(key) ?? []).filter((id) => !planned.has(id));
        const reason = has ? null : missing(line, rows, ids, now, choice);
        if (reason !== null) yield { machine, fault: `${NONE}, ${reason}` };
        if (has) tally.hypervisors += 1;
        else if (reason === null && without.length < MAX_MACHINES) without.push(machine);
        else if (reason === null) more += 1;
        if (!has || providers === null) continue;
        tally.providers += 1;
        const fault = providerFault(providers.get(key) ?? { uuids: [], compute: null });
        if (fault !== null) yield { machine, fault };
      }
    },
    *end(): Generator<ComputeFault> {
      if (!started) {
        tally.awaited = without.length + more;
        return;
      }
      for (const machine of without)
        yield { machine, fault: `${NONE}, but other machines have one` };
      if (more > 0)
        yield {
          machine: null,
          fault: `${counted(more, "more machine has", "more machines have")} ${NONE}`,
        };
    },
  };
}

/** Why a machine needs a compute node of the ironic driver. Null: not yet. */
function missing(
  line: PlannedMachine,
  rows: readonly ComputeSize[],
  deleted: readonly number[],
  { expects }: Pick<NovaNow, "expects">,
  choice: Choice,
): string | null {
  const host = choice.of(line) ?? line.service_host;
  const reason = expects(host);
  if (reason !== null) return `and ${reason}`;
  return rows.length > 0 || deleted.length === 0
    ? null
    : `and compute_nodes.id=${deleted.join(", ")} of ${show(host ?? "")} was deleted since the plan was made`;
}

/**
 * Faults of a machine's live compute nodes: at most one, with the machine's sizes. A row of zeros
 * is valid, for a node in maintenance, without a power state, or in use on a later Nova.
 * @source facts/systems.md D4; facts/rehearsal.md 2
 */
function* computeFaults(
  { records }: PlannedMachine,
  rows: readonly ComputeSize[],
): Generator<string> {
  const properties = objectOf(nodeOf(records)?.properties);
  if (rows.length > 1)
    yield `${rows.length} live compute nodes: ${rows.map(({ id }) => id).join(", ")}`;
  for (const row of rows) {
    if (row.hypervisor_type !== "ironic" || SIZES.every(([column]) => row[column] === 0)) continue;
    for (const [column, key] of SIZES)
      if (row[column] !== properties[key])
        yield `compute_nodes.id=${row.id} ${column} is ${row[column]}, properties.${key} ${JSON.stringify(properties[key] ?? null)}`;
  }
}

interface MachineProvider {
  /** UUIDs of resource providers named after the machine. */
  readonly uuids: readonly string[];
  /** UUID of its live compute node. Null if this Nova has none. */
  readonly compute: string | null;
}

/**
 * The fault of the resource provider of an offered machine. If its UUID differs from the compute
 * node's, it is never updated.
 * @source facts/rehearsal.md 4
 */
function providerFault({ uuids, compute }: MachineProvider): string | null {
  if (uuids.length === 0) return "no resource provider in Placement has the name of the machine";
  if (compute === null || uuids.includes(compute)) return null;
  return `its resource provider is ${uuids.join(" and ")}, its compute node ${compute}`;
}

export interface NewCompute extends ComputeLocation {
  readonly bm_node_id: number;
}

/**
 * Compute nodes that a nova-compute created after the plan. If they stay, machines are offered twice
 * after a rollback. The new nova-compute creates them on another host than the machine's, the old
 * nova-compute on its own host if the row was moved away. A row that a driver overwrote on the
 * machine's own host is the old row.
 * @param planned ids and machines of the compute nodes that existed when hosts were planned
 * @source facts/nova-bm.md 5.2, 5.3
 */
export async function newComputes(
  machines: readonly PlannedMachine[],
  locationsOf: NovaNow["locationsOf"],
  planned: { readonly ids: ReadonlySet<number>; readonly machines: ReadonlySet<string> },
): Promise<readonly NewCompute[]> {
  const found = await locationsOf(machines.flatMap(({ uuid }) => uuid ?? []));
  return machines.flatMap(({ uuid, bm_node_id, service_host }) => {
    const had = planned.machines.has(uuid ?? "");
    const added = (found.get(uuid?.toLowerCase() ?? "") ?? []).filter(
      ({ id, host, hypervisor_type }) =>
        !planned.ids.has(id) && (had || (hypervisor_type === "ironic" && host !== service_host)),
    );
    return added.map((location) => ({ ...location, bm_node_id }));
  });
}

/** Compute nodes of a machine on another host than planned. @source facts/nova-bm.md 5.2 */
export async function* auditHosts(
  batch: readonly PlannedMachine[],
  { locationsOf }: Pick<NovaNow, "locationsOf">,
  choice: Choice,
): AsyncGenerator<ComputeFault> {
  const found = await locationsOf(batch.flatMap(({ uuid }) => uuid ?? []));
  for (const line of batch.filter(isLoaded)) {
    const { uuid: machine } = line;
    const to = choice.of(line);
    for (const { id, host } of found.get(machine?.toLowerCase() ?? "") ?? [])
      if (to !== null && host !== null && host !== to)
        yield {
          machine,
          fault: `compute_nodes.id=${id} is on host ${show(host)}, should be on ${show(to)}`,
        };
  }
}
