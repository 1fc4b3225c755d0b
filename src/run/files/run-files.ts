import type { PlanCounts, SnapshotCounts } from "../../model/artefact.ts";
import type { FinishState } from "../../model/handover.ts";
import { batchesOf, type Entries, IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES, type NovaPlanCounts } from "../../model/nova/nova-plan.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";

export type Missing = { readonly missing: string };

/** A part of a run. Null if it is absent, or if its file is missing or damaged. */
export function available<T extends object>(part: T | Missing | null | undefined): T | null {
  return part === null || part === undefined || "missing" in part ? null : part;
}

export interface RunFiles {
  readonly snapshot:
    | { readonly counts: SnapshotCounts; readonly sha256: string; readonly taken_at: string }
    | Missing;
  readonly plan:
    | {
        readonly counts: PlanCounts;
        readonly sha256: string;
        readonly madeFrom: string;
        /** sha256 of the site document. Null without one. */
        readonly site?: string | null;
        readonly release: string;
      }
    | Missing;
  /** The Nova part of the plan, and all Nova changes. Absent: none. */
  readonly nova?: NovaState | Missing;
  /** Absent: none. */
  readonly rehearsal?: Rehearsal;
  readonly journal: { readonly entries: Entries } | Missing;
  /** Rows of Ironic that a rollback since the last load did not remove. Absent: no rollback. */
  readonly rows?: LoadedRows | Missing;
  /** Null: not staged. */
  readonly handover: HandedCounts | Missing | null;
  /** Run folder, as given on the command line. */
  readonly run?: string;
  /** Whether there are power readings that the plan accepted. */
  readonly hasReadings?: boolean;
  /** Whether the site document or the power readings changed since the plan. */
  readonly outdated?: boolean;
  /** Whether the plan is for Ironic's API. */
  readonly rest?: boolean;
  /** Machines with staged boot files, by tree. Absent: none. */
  readonly boot?: ReadonlyMap<string, number> | Missing;
  readonly finish?: FinishState | Missing;
  /** Results of verify since the journal's last entry. Absent: none. */
  readonly verified?: VerifiedState;
  /** Whether apply or verify found all Ironic rows as planned since then. */
  readonly compared?: boolean;
}

/** Machines of a staged load. */
export interface HandedCounts {
  readonly staged: number;
  readonly released: number;
  /** Machines in use that are not released. Conductors take over only these. */
  readonly takeOvers: number;
}

/** Options of verify that found no fault. */
export interface VerifiedState {
  readonly rows: boolean;
  readonly takeover: boolean;
  readonly final: boolean;
}

export interface NovaState {
  readonly plan: { readonly sha256: string; readonly counts: NovaPlanCounts } | null;
  readonly entries: Entries;
  /** Rows that are still changed, although their machines left Ironic. Absent: none. */
  readonly remaining?: RemainingRows | Missing;
}

export interface RemainingRows {
  readonly rows: number;
  readonly machines: TakenBack;
}

/** Rows of this run in Ironic, and their machines. */
export interface LoadedRows {
  readonly rows: number;
  readonly machines: number;
  /** Machines that a rollback named and skipped. */
  readonly skipped: ReadonlySet<string>;
}

/** Machines of rollbacks since the last load, by uuid, or all. */
export type TakenBack = ReadonlySet<string> | "all";

/** @returns null without a rollback */
export function takenBack(journal: Entries): TakenBack | null {
  const entries = batchesOf(journal, IRONIC, ...NOVA_NAMES);
  if (!entries.some(({ do: what, part }) => what === "begin" && part === IRONIC)) return null;
  const loaded = entries.findLastIndex(({ do: what }) => what === "begin");
  const nodes = entries
    .slice(loaded + 1)
    .flatMap((entry) => (entry.do === "undo" ? [entry.all === true ? "all" : entry.nodes] : []));
  if (nodes.length === 0) return null;
  // Shared rows have no machine.
  return nodes.includes("all") ? "all" : new Set(nodes.flat().filter((uuid) => uuid !== ""));
}

/** Machines of rollbacks since the last load without an end. Only Ironic shows their state. */
export function cutBack(journal: Entries): ReadonlySet<string> {
  const entries = batchesOf(journal, IRONIC);
  const open = new Map<string, ReadonlySet<string>>();
  let requested: readonly string[] = [];
  for (const entry of entries.slice(entries.findLastIndex(({ do: it }) => it === "begin") + 1)) {
    const batch = `${entry.plan} ${entry.from}-${entry.to}`;
    const before = open.get(batch) ?? new Set();
    if (entry.do === "undo") {
      requested = entry.nodes === "all" ? [] : entry.nodes;
      open.set(batch, new Set([...before, ...requested]));
    } else if (entry.do === "undone")
      open.set(batch, new Set([...before].filter((uuid) => !requested.includes(uuid))));
  }
  return new Set([...open.values()].flatMap((uuids) => [...uuids]));
}

/** Without the machines that the rollback skipped. */
export function awayOf({ journal, rows }: Pick<RunFiles, "journal" | "rows">): TakenBack | null {
  const undo = "missing" in journal ? null : takenBack(journal.entries);
  if (undo === null || undo === "all" || rows === undefined || "missing" in rows) return undo;
  const away = [...undo].filter((uuid) => !rows.skipped.has(uuid));
  return away.length === 0 ? null : new Set(away);
}

/** Whether the plan was loaded staged, since the last full rollback. */
export function wasStaged(journal: Entries, plan: string): boolean {
  const entries = batchesOf(journal, IRONIC);
  if (entries.length === 0)
    return journal.some((entry) => entry.do === "target" && entry.staged === true);
  const back = entries.findLastIndex((entry) => entry.do === "undo" && entry.nodes === "all");
  return entries
    .slice(back + 1)
    .some((entry) => entry.do === "begin" && entry.plan === plan && entry.staged === true);
}
