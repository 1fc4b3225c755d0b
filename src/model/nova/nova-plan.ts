import { MigrationError } from "../../lib/error.ts";
import { listed, NAMED } from "../../lib/text.ts";
import type { PlanCounts, PlanHeader, ServerIdentity } from "../artefact.ts";
import type { Hooks, Outcome, State } from "../change.ts";
import type { Lock } from "../ironic/target.ts";
import type { Row } from "../machine.ts";

/** What of Nova is changed: the rows that name a compute host, and extra specs of flavors in nova or in nova_api. */
const NOVA_PARTS = ["hosts", "flavors", "api"] as const;
type NovaPart = (typeof NOVA_PARTS)[number];

/** Tables this tool may change in nova and nova_api. */
export type NovaTable =
  | "instances"
  | "compute_nodes"
  | "services"
  | "aggregate_hosts"
  | "instance_type_extra_specs"
  | "flavor_extra_specs";

/**
 * A change of one row of nova, reversible: `before: null` creates it, `after: null` deletes it.
 * Both hold the columns that change and those that must stay as they are for the change to be right.
 */
export interface NovaStep {
  /** `instances:17`; a row that has no number yet is named by what is unique in it. */
  readonly id: string;
  readonly part: NovaPart;
  readonly table: NovaTable;
  /** Finds the row: its id, or the columns that are unique. */
  readonly key: Row;
  readonly before: Row | null;
  readonly after: Row | null;
  /** Uuid of the machine it belongs to; null when it belongs to several. */
  readonly machine: string | null;
  /** For people: `flavor baremetal`, `instance b000..`. */
  readonly of: string;
}

export interface NovaIdentity extends ServerIdentity {
  readonly schema_version: number;
  /** Head of alembic; absent before Xena. */
  readonly head?: string;
}

/** What plan.json says of the steps on Nova's own rows. */
export interface NovaPlanHeader {
  /** ISO 8601, UTC: what `deleted_at` and `created_at` of changed rows say. */
  readonly made_at: string;
  readonly target: NovaIdentity;
  /** The nova_api database; absent where flavors are nova's own rows. */
  readonly api?: NovaIdentity;
  /** Which compute hosts take machines over, as `--compute-host` had it; empty: each keeps its own. */
  readonly compute_hosts: readonly string[];
  /** What the operator asked for, for people. */
  readonly asked: readonly string[];
}

export interface NovaPlanCounts {
  readonly hosts: number;
  readonly flavors: number;
  /** Extra specs in nova_api; absent where flavors are nova's own rows. */
  readonly api?: number;
  readonly findings: number;
  /** Compute hosts that must have stopped before rows are changed. */
  readonly stopped: readonly string[];
}

/** Steps of a plan for Nova, of all parts. */
export function stepsOf(counts: NovaPlanCounts): number {
  return NOVA_PARTS.reduce((sum, part) => sum + (counts[part] ?? 0), 0);
}

/** How the row of a step stands: nobody waits for one. */
export type RowState = State & { readonly is: Exclude<State["is"], "waiting"> };

/**
 * What a nova-compute service wrote of itself. `updated_at` is renewed by any change of the row, so
 * that a dead host which somebody disabled looks alive: a heartbeat changes the count, and since
 * Liberty `last_seen_up`.
 *
 * @source nova db/sqlalchemy/api.py service_update; facts/systems-measured.md A1+
 */
export interface HostBeat {
  readonly id: number;
  readonly host: string;
  readonly report_count: number | null;
  /** Naive UTC; null before Liberty, and before the first report since. */
  readonly last_seen_up: string | null;
  /**
   * Seconds since `last_seen_up`, by the database's clock; since `updated_at` where that is null.
   * Null before the first report.
   */
  readonly age: number | null;
}

/** A nova database that may be written to. */
export interface NovaTarget {
  readonly identity: NovaIdentity;
  readonly lock: () => Promise<Lock>;
  /** How the rows of steps stand; nothing is locked or written. */
  readonly inspect: (steps: readonly NovaStep[]) => Promise<readonly RowState[]>;
  /** What the nova-compute services of compute hosts say of themselves now. */
  readonly beats: (hosts: readonly string[]) => Promise<readonly HostBeat[]>;
  /** How many live instances and compute nodes are on compute hosts now, whoever they belong to. */
  readonly use: (
    hosts: readonly string[],
  ) => Promise<ReadonlyMap<string, { readonly instances: number; readonly computes: number }>>;
  /**
   * Performs a batch in one transaction. A row that is as after already is `found`.
   *
   * @throws MigrationError N2I-E300 when a row differs that is not ours
   */
  readonly perform: (steps: readonly NovaStep[], hooks: NovaHooks) => Promise<NovaOutcome>;
  /**
   * Writes a batch whose rows are all as before, each statement comparing what it replaces, and holds it in its
   * transaction: nothing is kept until that is said.
   *
   * @returns null where one of them is not so: nothing is held then
   */
  readonly hold: (steps: readonly NovaStep[]) => Promise<HeldSteps | null>;
}

type NovaHooks = Omit<Hooks, "ended">;
type NovaOutcome = Omit<Outcome, "failed" | "broke">;

/** A batch that is written and not kept. */
export interface HeldSteps {
  /** Keeps it: does and answers what `perform` would. */
  readonly keep: (hooks: NovaHooks) => Promise<NovaOutcome>;
  /** Takes it back. */
  readonly drop: () => Promise<void>;
}

/** A file of a plan. */
export interface PlanFile {
  /** As its own footer has it. */
  readonly sha256: string;
  /** Without header and footer. */
  readonly lines: number;
}

/** plan.json: what is said of a plan as a whole, and of which files it is made. */
export interface PlanManifest extends PlanHeader {
  readonly counts: PlanCounts;
  /** Of its steps on Nova's own rows; null when it was made without Nova. */
  readonly nova: { readonly header: NovaPlanHeader; readonly counts: NovaPlanCounts } | null;
  /** By name, without `.jsonl`. */
  readonly files: { readonly [name: string]: PlanFile };
}

/** The file of machines; those of Nova are named as the legs of its part. */
export const MACHINES = "machines";

/**
 * Refuses a batch with rows that are neither as planned nor ours.
 *
 * @throws MigrationError N2I-E300
 */
export function refuseStrange(
  left: Outcome["left"],
  owned: (id: string) => boolean,
  what: string,
): void {
  const strange = left.filter(({ id }) => !owned(id)).map(({ id, why }) => `${id} ${why}`);
  if (strange.length === 0) return;
  const some = listed(strange, NAMED, "; ");
  throw new MigrationError("N2I-E300", `${strange.length} ${what} are not as planned: ${some}`);
}

/**
 * Rows of Nova by what becomes of them together. `shared` are rows of hosts that machines share: what
 * becomes of them depends on what became of the others, so they go last.
 */
export const NOVA_LEGS = ["hosts", "shared", "api", "flavors"] as const;

export type NovaLegName = (typeof NOVA_LEGS)[number];

/** Names a leg's part in the journal. */
export function novaName(leg: NovaLegName): string {
  return `nova-${leg}`;
}

/** All of them. */
export const NOVA_NAMES = NOVA_LEGS.map(novaName);

/** What becomes of the deploy images that flavors name. @source facts/nova-bm.md 4.2 */
export type Images =
  | { readonly do: "keep" }
  | { readonly do: "delete" }
  | { readonly do: "point"; readonly kernel: string; readonly ramdisk: string };
