import type { PlanCounts, SnapshotCounts } from "../../model/artefact.ts";
import type { FinishState } from "../../model/handover.ts";
import { batchesOf, type Entries, IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES, type NovaPlanCounts } from "../../model/nova/nova-plan.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";

/** Why a file cannot be read. */
export type Missing = { readonly missing: string };

export interface RunFiles {
  readonly snapshot:
    | { readonly counts: SnapshotCounts; readonly sha256: string; readonly taken_at: string }
    | Missing;
  readonly plan:
    | {
        readonly counts: PlanCounts;
        readonly sha256: string;
        readonly madeFrom: string;
        /** sha256 of the site document; null: without one. */
        readonly site?: string | null;
        readonly release: string;
      }
    | Missing;
  /** The plan for Nova that belongs to the plan, and what was done of any; absent: there was none. */
  readonly nova?: NovaState | Missing;
  /** What the last rehearsal found; absent: there was none. */
  readonly rehearsal?: Rehearsal;
  readonly journal: { readonly entries: Entries; readonly torn: boolean } | Missing;
  /** What a rollback since the last load has not taken from Ironic; absent: there was none. */
  readonly held?: Held | Missing;
  /** Null: the load was not staged. */
  readonly handover: HandedCounts | Missing | null;
  /** The run's folder, as the command line names it. */
  readonly run?: string;
  /** Whether there are power readings that the plan did not reject. */
  readonly asked?: boolean;
  /** Whether the site document or the power readings are others than those of the plan. */
  readonly outdated?: boolean;
  /** Whether the plan is for Ironic's API. */
  readonly rest?: boolean;
  /** Machines with boot files staged, by tree; absent: nothing was staged. */
  readonly boot?: ReadonlyMap<string, number> | Missing;
  readonly finish?: FinishState | Missing;
  /** What verify found as planned since the journal's last entry; absent: nothing. */
  readonly verified?: VerifiedState;
  /** Ironic's rows were compared with the plan since then, by apply or verify, and all held. */
  readonly compared?: boolean;
}

/** Machines that a load stages. */
export interface HandedCounts {
  readonly staged: number;
  readonly released: number;
  /** Those in use that are not released: conductors take over no other. */
  readonly takeOvers: number;
}

/** Which looks of verify found nothing wrong. */
export interface VerifiedState {
  readonly rows: boolean;
  readonly takeover: boolean;
  readonly final: boolean;
}

export interface NovaState {
  readonly plan: {
    readonly sha256: string;
    readonly counts: NovaPlanCounts;
  } | null;
  readonly entries: Entries;
  /** Rows that are changed still though the machines were taken from Ironic; absent: none were. */
  readonly still?: Still | Missing;
}

export interface Still {
  readonly rows: number;
  readonly machines: TakenBack;
}

/** Rows in Ironic that are this run's, and how many machines they are of. */
export interface Held {
  readonly rows: number;
  readonly machines: number;
  /** Those of them that a rollback was asked for by their uuid, and left. */
  readonly left: ReadonlySet<string>;
}

/** Machines a rollback was asked to take back since the last load, by uuid, or all of them. */
export type TakenBack = ReadonlySet<string> | "all";

/** @returns null where none was */
export function takenBack(journal: Entries): TakenBack | null {
  const entries = batchesOf(journal, IRONIC, ...NOVA_NAMES);
  if (!entries.some(({ do: what, part }) => what === "begin" && part === IRONIC)) return null;
  const loaded = entries.findLastIndex(({ do: what }) => what === "begin");
  const nodes = entries
    .slice(loaded + 1)
    .flatMap((entry) => (entry.do === "undo" ? [entry.all === true ? "all" : entry.nodes] : []));
  if (nodes.length === 0) return null;
  // Rows that machines share name none.
  return nodes.includes("all") ? "all" : new Set(nodes.flat().filter((uuid) => uuid !== ""));
}

/** Machines of which a rollback since the last load was begun and never came to its end: Ironic alone knows of them. */
export function cutBack(journal: Entries): ReadonlySet<string> {
  const entries = batchesOf(journal, IRONIC);
  const open = new Map<string, ReadonlySet<string>>();
  let asked: readonly string[] = [];
  for (const entry of entries.slice(
    entries.findLastIndex(({ do: what }) => what === "begin") + 1,
  )) {
    const batch = `${entry.plan} ${entry.from}-${entry.to}`;
    const before = open.get(batch) ?? new Set();
    if (entry.do === "undo") {
      asked = entry.nodes === "all" ? [] : entry.nodes;
      open.set(batch, new Set([...before, ...asked]));
    } else if (entry.do === "undone")
      open.set(batch, new Set([...before].filter((uuid) => !asked.includes(uuid))));
  }
  return new Set([...open.values()].flatMap((uuids) => [...uuids]));
}

/** Machines that a rollback since the last load removed, or has to remove. Machines that it left in Ironic are not among them. */
export function awayOf({ journal, held }: Pick<RunFiles, "journal" | "held">): TakenBack | null {
  const asked = "missing" in journal ? null : takenBack(journal.entries);
  if (asked === null || asked === "all" || held === undefined || "missing" in held) return asked;
  const away = [...asked].filter((uuid) => !held.left.has(uuid));
  return away.length === 0 ? null : new Set(away);
}

/** Whether what is loaded of a plan was loaded staged, since everything was rolled back last. */
export function wasStaged(journal: Entries, plan: string): boolean {
  const entries = batchesOf(journal, IRONIC);
  if (entries.length === 0)
    return journal.some((entry) => entry.do === "target" && entry.staged === true);
  const back = entries.findLastIndex((entry) => entry.do === "undo" && entry.nodes === "all");
  return entries
    .slice(back + 1)
    .some((entry) => entry.do === "begin" && entry.plan === plan && entry.staged === true);
}
