import type { Json } from "../lib/json.ts";
import type { BootPlan } from "./boot.ts";
import type { Finding } from "./finding.ts";
import type { Row } from "./machine.ts";

export type Resource = "node" | "port";

/** Where values come from: what `Desired.origins` points into. */
export type Origins = readonly (readonly [field: string, origin: string])[];

/** A row Ironic should hold. JSON columns are objects; secrets inside are sealed. */
export interface Desired {
  readonly resource: Resource;
  /** `node:UUID` or `port:UUID`. */
  readonly id: string;
  /** Columns of the release's table; a port names its node as `node_uuid`. */
  readonly row: Row;
  /** Indexes into the plan's table of origins, one for each field a rule gave. */
  readonly origins: readonly number[];
}

/** One field that is not as it should be. A secret shows as its mask. */
export interface FieldChange {
  /** `driver_info.ipmi_address`. */
  readonly field: string;
  readonly planned: Json;
  readonly found: Json;
}

/**
 * What becomes of one row: `create` it, it is there already (`none`), it is ours and somebody
 * changed it (`drift`), or something else stands in its place (`conflict`).
 */
type RecordChange = "create" | "none" | "drift" | "conflict";

export interface PlannedRecord extends Desired {
  readonly change: RecordChange;
  readonly differs?: readonly FieldChange[];
}

/** A change of one row, reversible: `before: null` creates it, `after: null` deletes it. */
export interface Step {
  readonly id: string;
  readonly resource: Resource;
  /** Uuid of its machine. */
  readonly machine: string | null;
  readonly before: Row | null;
  readonly after: Row | null;
}

export type Verdict = "create" | "unchanged" | "drift" | "conflict" | "blocked" | "skipped";

/** One machine's line of a plan. */
export interface PlannedMachine {
  readonly bm_node_id: number;
  readonly uuid: string | null;
  readonly service_host: string | null;
  readonly verdict: Verdict;
  /** Why it is skipped or blocked, in words; null otherwise. */
  readonly reason: string | null;
  /** The row of the state table that decided, and what it decided. */
  readonly state: { readonly row: string; readonly outcome: string };
  readonly records: readonly PlannedRecord[];
  readonly findings: readonly Finding[];
  /** How its tenant boots; absent when it keeps no instance, or its root filesystem is unknown. */
  readonly boot?: BootPlan;
}

/** Whether Ironic has or will have the machine: the others keep their rows in Nova. */
export function isLoaded({ verdict }: Pick<PlannedMachine, "verdict">): boolean {
  return verdict === "create" || verdict === "unchanged" || verdict === "drift";
}

/** The node among the records of a machine. */
export function nodeOf(records: readonly Pick<Desired, "resource" | "row">[]): Row | undefined {
  return records.find(({ resource }) => resource === "node")?.row;
}

/** The steps that carry one machine over; its node comes before its ports. */
export function stepsOf(machine: PlannedMachine): readonly Step[] {
  return machine.verdict === "create"
    ? machine.records
        .filter(({ change }) => change === "create")
        .map(({ id, resource, row: after }) => ({
          id,
          resource,
          machine: machine.uuid,
          before: null,
          after,
        }))
    : [];
}
