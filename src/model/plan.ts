import type { Json } from "../lib/json.ts";
import type { BootPlan } from "./boot.ts";
import type { Change } from "./change.ts";
import type { Finding } from "./findings.ts";
import type { Row } from "./machine.ts";

export type Resource = "node" | "port";

/** Sources of values, indexed by `Desired.origins`. */
export type Origins = readonly (readonly [field: string, origin: string])[];

/** A row for Ironic. JSON columns are objects with sealed secrets. */
export interface Desired {
  readonly resource: Resource;
  readonly id: string;
  /** Columns of the release's table. A port has its node as `node_uuid`. */
  readonly row: Row;
  /** Indexes in the plan's origins, one for each field from a rule. */
  readonly origins: readonly number[];
}

export interface FieldChange {
  /** `driver_info.ipmi_address`. */
  readonly field: string;
  readonly planned: Json;
  readonly found: Json;
}

export interface PlannedRecord extends Desired {
  /** `none`: exists as planned. `drift`: ours, but changed. `conflict`: another row has its keys. */
  readonly change: "create" | "none" | "drift" | "conflict";
  readonly differs?: readonly FieldChange[];
}

export interface Step extends Change {
  readonly resource: Resource;
}

export type Verdict = "create" | "unchanged" | "drift" | "conflict" | "blocked" | "skipped";

export interface PlannedMachine {
  readonly bm_node_id: number;
  readonly uuid: string | null;
  readonly service_host: string | null;
  readonly verdict: Verdict;
  /** Reason if skipped or blocked, else null. */
  readonly reason: string | null;
  /** Deciding row of the state table, and its outcome. */
  readonly state: { readonly row: string; readonly outcome: string };
  readonly records: readonly PlannedRecord[];
  readonly findings: readonly Finding[];
  /** Absent without an instance or with an unknown root filesystem. */
  readonly boot?: BootPlan;
}

/** Whether the machine is or will be in Ironic. Others keep their Nova rows. */
export function isLoaded({ verdict }: Pick<PlannedMachine, "verdict">): boolean {
  return verdict === "create" || verdict === "unchanged" || verdict === "drift";
}

export function nodeOf(records: readonly Pick<Desired, "resource" | "row">[]): Row | undefined {
  return records.find(({ resource }) => resource === "node")?.row;
}

export function stepsOf(machine: PlannedMachine): readonly Step[] {
  if (machine.verdict !== "create") return [];
  const created = machine.records.filter(({ change }) => change === "create");
  return created.map(({ id, resource, row: after }) => ({
    ...{ id, resource, machine: machine.uuid, before: null, after },
  }));
}
