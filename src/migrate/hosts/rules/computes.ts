import { objectOf } from "../../../lib/json.ts";
import { counted, show } from "../../../lib/text.ts";
import type { ComputePlace, ComputeSize } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import type { Choice } from "./choice.ts";

/** What a compute node has, and the property of the machine it is taken from. */
const SIZES = [
  ["vcpus", "cpus"],
  ["memory_mb", "memory_mb"],
  ["local_gb", "local_gb"],
] as const;

/** By the uuid of the machine, lower case. */
export type ByMachine<T> = (uuids: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>;

/** What Nova and Placement have of machines now, and what they should have. */
export interface HypervisorsNow {
  /** Live compute nodes. */
  readonly computesOf: ByMachine<ComputeSize>;
  /** Ids of compute nodes that somebody other than the plan deleted since it was made. */
  readonly deletedOf: ByMachine<number>;
  /** Null: Placement is not given. */
  readonly providersOf: ProvidersOf | null;
  /** Why a host must offer its machines by now; null while its nova-compute need not have run. */
  readonly expects: (host: string | null) => string | null;
}

/** How many machines had something to compare. */
export interface HypervisorTally {
  hypervisors: number;
  providers: number;
  /** Machines without a compute node of the ironic driver, which nothing expects yet. */
  awaited: number;
}

export interface ComputeFault {
  readonly machine: string | null;
  readonly fault: string;
  /** Nova is working on it just now. */
  readonly moving?: boolean;
}

/** Machines without a compute node that are listed one by one. */
const HELD = 1000;
const NONE = "no live compute node of the ironic driver";

/** Looks at machines batch by batch; what all of them together tell it says at the end. */
interface ComputesAudit {
  readonly look: (batch: readonly PlannedMachine[]) => AsyncGenerator<ComputeFault>;
  readonly end: () => Generator<ComputeFault>;
}

/**
 * What is wrong with the live compute nodes of a plan's machines. Before the new nova-compute ran
 * there need not be any; once it did, or one machine has one of the ironic driver, each must.
 *
 * @source facts/systems.md D-14, D-15; facts/rehearsal.md 4
 */
export function createComputesAudit(
  now: HypervisorsNow,
  choice: Choice,
  tally: HypervisorTally,
): ComputesAudit {
  let started = false;
  const without: (string | null)[] = [];
  let more = 0;
  return {
    async *look(batch) {
      const lines = batch.filter(({ records }) => nodeOf(records) !== undefined);
      const uuids = lines.flatMap(({ uuid }) => (uuid === null ? [] : [uuid]));
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
        const why = has ? null : missing(line, rows, deleted.get(key) ?? [], now, choice);
        if (why !== null) yield { machine, fault: `${NONE}, ${why}` };
        if (has) tally.hypervisors += 1;
        else if (why === null && without.length < HELD) without.push(machine);
        else if (why === null) more += 1;
        if (!has || providers === null) continue;
        tally.providers += 1;
        for (const fault of providerFaults(providers.get(key))) yield { machine, fault };
      }
    },
    *end() {
      if (!started) {
        tally.awaited = without.length + more;
        return;
      }
      for (const machine of without)
        yield { machine, fault: `${NONE}, and other machines have theirs` };
      if (more > 0)
        yield {
          machine: null,
          fault: `${counted(more, "more machine has", "more machines have")} ${NONE}`,
        };
    },
  };
}

/** Why a machine must have a compute node of the ironic driver; null: it need not have one yet. */
function missing(
  line: PlannedMachine,
  rows: readonly ComputeSize[],
  deleted: readonly number[],
  { expects }: HypervisorsNow,
  choice: Choice,
): string | null {
  const host = choice.of(line) ?? line.service_host;
  const why = expects(host);
  if (why !== null) return `and ${why}`;
  return rows.length > 0 || deleted.length === 0
    ? null
    : `and compute_nodes.id=${deleted.join(", ")} of ${show(host ?? "")} was deleted since the plan was made`;
}

/**
 * What is wrong with the live compute nodes of a machine: there must be one at most, and what the
 * ironic driver wrote must be what the machine has. A row of zeros offers nothing: its node is in
 * maintenance, has no power state yet, or is in use on a later Nova.
 *
 * @source facts/systems.md D4; facts/rehearsal.md 2
 */
function computeFaults(
  { records }: PlannedMachine,
  rows: readonly ComputeSize[],
): readonly string[] {
  const node = nodeOf(records);
  if (node === undefined) return [];
  const properties = objectOf(node.properties);
  const many =
    rows.length > 1
      ? [`${rows.length} live compute nodes: ${rows.map(({ id }) => id).join(", ")}`]
      : [];
  const sizes = rows
    .filter(
      (row) => row.hypervisor_type === "ironic" && SIZES.some(([column]) => row[column] !== 0),
    )
    .flatMap((row) =>
      SIZES.filter(([column, key]) => row[column] !== properties[key]).map(
        ([column, key]) =>
          `compute_nodes.id=${row.id} ${column} is ${row[column]}, properties.${key} ${JSON.stringify(properties[key] ?? null)}`,
      ),
    );
  return [...many, ...sizes];
}

/** What Placement has of a machine, in lower case. */
export interface MachineProvider {
  /** Uuids of resource providers that are called as the machine. */
  readonly uuids: readonly string[];
  /** Uuid of its live compute node; null where this Nova keeps none. */
  readonly compute: string | null;
}

/** By the uuid of the machine, lower case. */
export type ProvidersOf = (
  uuids: readonly string[],
) => Promise<ReadonlyMap<string, MachineProvider>>;

/**
 * What is wrong with the resource provider of a machine that Nova offers: there must be one, with the
 * uuid of the compute node. With another uuid it is never updated again.
 *
 * @source facts/rehearsal.md 4
 */
function providerFaults(found: MachineProvider | undefined): readonly string[] {
  const { uuids, compute } = found ?? { uuids: [], compute: null };
  if (uuids.length === 0) return ["no resource provider in Placement is called as the machine"];
  if (compute === null || uuids.includes(compute)) return [];
  return [`its resource provider is ${uuids.join(" and ")}, its compute node ${compute}`];
}

/** Live compute nodes of the drivers for machines. */
type PlacesOf = ByMachine<ComputePlace>;

/** A compute node that Nova made since, and the machine it is of. */
export interface NewCompute extends ComputePlace {
  readonly bm_node_id: number;
}

/** A machine of a plan, and the compute host that it is of. */
export type PlacedMachine = Pick<PlannedMachine, "bm_node_id" | "uuid" | "service_host">;

/** Compute nodes that were there when hosts were planned. */
export interface KnownComputes {
  readonly ids: ReadonlySet<number>;
  /** Machines that had some, by uuid. */
  readonly machines: ReadonlySet<string>;
}

/**
 * Compute nodes that a nova-compute made since. Once the old ones are back each such machine is
 * offered twice, and nobody else takes the new ones away. The new nova-compute makes them on another
 * host than the machine's; the old one, started once more, on its own where its row was moved away.
 * One that a driver wrote over on the machine's own host is the old one.
 *
 * @source facts/nova-bm.md 5.2, 5.3
 */
export async function* newComputes(
  machines: AsyncIterable<readonly PlacedMachine[]>,
  placesOf: PlacesOf,
  known: KnownComputes,
): AsyncGenerator<NewCompute> {
  for await (const batch of machines) {
    const found = await placesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const { uuid, bm_node_id, service_host } of batch) {
      const had = known.machines.has(uuid ?? "");
      for (const place of found.get(uuid?.toLowerCase() ?? "") ?? []) {
        const elsewhere = place.hypervisor_type === "ironic" && place.host !== service_host;
        if (!known.ids.has(place.id) && (had || elsewhere)) yield { ...place, bm_node_id };
      }
    }
  }
}

/**
 * Compute nodes that offer a machine on another host than the one the plan moves it to: the scheduler
 * gives it away there, as no instance is on that host.
 *
 * @source facts/nova-bm.md 5.2
 */
export async function* auditPlaces(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  placesOf: PlacesOf,
  choice: Choice,
): AsyncGenerator<ComputeFault> {
  for await (const batch of machines) {
    const found = await placesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const line of batch) {
      if (!isLoaded(line)) continue;
      const { uuid } = line;
      const to = choice.of(line);
      for (const { id, host } of found.get(uuid?.toLowerCase() ?? "") ?? [])
        if (to !== null && host !== null && host !== to)
          yield {
            machine: uuid,
            fault: `compute_nodes.id=${id} is on host ${show(host)}, should be on ${show(to)}`,
          };
    }
  }
}
