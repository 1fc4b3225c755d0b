import { MigrationError } from "../../lib/error.ts";
import { listed, NAMES } from "../../lib/text.ts";
import type { NovaVersion, PlanCounts, PlanHeader, ServerIdentity } from "../artefact.ts";
import type { Change, Hooks, Outcome, State } from "../change.ts";
import type { Lock } from "../ironic/target.ts";
import type { Row } from "../machine.ts";

const NOVA_PARTS = ["hosts", "flavors", "api"] as const;

export type NovaTable =
  | "instances"
  | "compute_nodes"
  | "services"
  | "aggregate_hosts"
  | "instance_type_extra_specs"
  | "flavor_extra_specs";

/**
 * A change of one Nova row. `before` and `after` have the changed columns, and those that must stay
 * unchanged. A row without an id is named by its unique columns.
 */
export interface NovaStep extends Change {
  readonly part: (typeof NOVA_PARTS)[number];
  readonly table: NovaTable;
  /** Id or unique columns of the row. */
  readonly key: Row;
  /** For display: `flavor baremetal`, `instance b000..`. */
  readonly of: string;
}

export type NovaIdentity = ServerIdentity & NovaVersion;

export interface NovaPlanHeader {
  /** ISO 8601, UTC, for `deleted_at` and `created_at` of changed rows. */
  readonly made_at: string;
  readonly target: NovaIdentity;
  /** The nova_api database. Absent if nova has the flavors. */
  readonly api?: NovaIdentity;
  /** New compute hosts from `--compute-host`. Empty: hosts are kept. */
  readonly compute_hosts: readonly string[];
  /** The operator's options, for display. */
  readonly asked: readonly string[];
}

export interface NovaPlanCounts {
  readonly hosts: number;
  readonly flavors: number;
  /** Extra specs in nova_api. Absent if nova has the flavors. */
  readonly api?: number;
  readonly findings: number;
  /** Compute hosts that must be stopped for the change. */
  readonly stopped: readonly string[];
}

export function stepsOf(counts: NovaPlanCounts): number {
  return NOVA_PARTS.reduce((sum, part) => sum + (counts[part] ?? 0), 0);
}

/** State of a step's row. Nova rows never wait. */
export type RowState = State & { readonly is: Exclude<State["is"], "waiting"> };

/**
 * Heartbeat of a nova-compute service. Any change of the row renews `updated_at`, but only a
 * heartbeat changes the count, and since Liberty `last_seen_up`.
 * @source nova db/sqlalchemy/api.py service_update; facts/systems-measured.md A1+
 */
export interface HostBeat {
  readonly id: number;
  readonly host: string;
  readonly report_count: number | null;
  /** Naive UTC. Null before Liberty, and before the first report. */
  readonly last_seen_up: string | null;
  /** Seconds since `last_seen_up`, else `updated_at`, by the database clock. Null without any. */
  readonly age: number | null;
}

/** Live instances and compute nodes of a host. */
export interface HostUse {
  readonly instances: number;
  readonly computes: number;
}

export interface NovaTarget {
  readonly identity: NovaIdentity;
  readonly lock: () => Promise<Lock>;
  /** States of the steps' rows, without locks and writes. */
  readonly inspect: (steps: readonly NovaStep[]) => Promise<readonly RowState[]>;
  /** Current heartbeats of compute hosts. */
  readonly beats: (hosts: readonly string[]) => Promise<readonly HostBeat[]>;
  /** By host, of all owners. */
  readonly use: (hosts: readonly string[]) => Promise<ReadonlyMap<string, HostUse>>;
  /**
   * Performs a batch in one transaction. Rows that already have the new values are `found`.
   * @throws MigrationError N2I-E300 if a row differs and is not ours
   */
  readonly perform: (steps: readonly NovaStep[], hooks: NovaHooks) => Promise<NovaOutcome>;
  /**
   * Writes a batch in an open transaction, if all rows have their old values, which each statement
   * compares.
   * @returns null if a row differs. Nothing is held then
   */
  readonly writeUncommitted: (steps: readonly NovaStep[]) => Promise<UncommittedSteps | null>;
}

type NovaHooks = Omit<Hooks, "ended">;
type NovaOutcome = Omit<Outcome, "failed" | "broke">;

/** A written batch before its commit. */
export interface UncommittedSteps {
  /** Commits. Same hooks and result as `perform`. */
  readonly keep: (hooks: NovaHooks) => Promise<NovaOutcome>;
  /** Rolls back. */
  readonly drop: () => Promise<void>;
}

export interface PlanFile {
  /** As in its footer. */
  readonly sha256: string;
  /** Without header and footer. */
  readonly lines: number;
}

/** File of machines. Nova's files have the names of its legs. */
export const MACHINES = "machines";

/** Refuses a batch with rows that differ and are not ours. @throws MigrationError N2I-E300 */
export function refuseForeign(
  skipped: Outcome["skipped"],
  owned: (id: string) => boolean,
  rows: string,
): void {
  const foreign = skipped.filter(({ id }) => !owned(id)).map(({ id, reason }) => `${id} ${reason}`);
  if (foreign.length === 0) return;
  const some = listed(foreign, NAMES, "; ");
  throw new MigrationError("N2I-E300", `${foreign.length} ${rows} are not as planned: ${some}`);
}

/** Nova rows by order. `shared` are host rows of several machines, which depend on the others. */
export const NOVA_LEGS = ["hosts", "shared", "api", "flavors"] as const;

export type NovaLegName = (typeof NOVA_LEGS)[number];

export function novaName(leg: NovaLegName): string {
  return `nova-${leg}`;
}

export const NOVA_NAMES = NOVA_LEGS.map(novaName);

/** Change of the deploy images of flavors. @source facts/nova-bm.md 4.2 */
export type Images =
  | { readonly do: "keep" }
  | { readonly do: "delete" }
  | { readonly do: "point"; readonly kernel: string; readonly ramdisk: string };

/** plan.json: the whole plan and its files. */
export interface PlanManifest extends PlanHeader {
  readonly counts: PlanCounts;
  readonly nova: { readonly header: NovaPlanHeader; readonly counts: NovaPlanCounts } | null;
  /** By name, without `.jsonl`. */
  readonly files: { readonly [name: string]: PlanFile };
}
