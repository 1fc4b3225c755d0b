import type { ServerIdentity } from "./artefact.ts";
import { besideMachines, type Entries, type RetireEntry } from "./journal.ts";
import type { Sealed } from "./secret.ts";
import type { StoredColumn } from "./tables.ts";

/** In the run's folder. */
export const ARCHIVE = "nova_bm.jsonl";
/** Days between it and the drop, where nobody says how many. */
export const GRACE = 7;

/**
 * A value as the archive holds it: text and whole numbers as they are; what JSON would change has a name.
 * `text` says that the bytes were kept as text and are none of UTF-8, as SQLite allows.
 */
export type Cell =
  | string
  | number
  | null
  | { readonly integer: string }
  | { readonly real: string }
  | { readonly bytes: string; readonly text?: true }
  | Sealed;

/** A table as it was found. */
export interface StoredTable {
  readonly name: string;
  readonly columns: readonly StoredColumn[];
  /** Columns of the primary key; none where there is no key. */
  readonly primary: readonly string[];
}

export interface ArchiveHeader {
  readonly format: "nova2ironic/archive@1";
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly taken_at: string;
  readonly source: ServerIdentity & { readonly schema_version: number };
  /** sha256 of the snapshot that the rows were compared with. */
  readonly made_from: { readonly snapshot: string };
  readonly key: string;
  /** Of the text of its tables, on MySQL. */
  readonly charset: string | null;
  readonly tables: readonly StoredTable[];
}

/** Of one table: how many rows, and a digest of them that does not depend on their order. */
export interface RowsDigest {
  readonly rows: number;
  /** 64 hex digits. */
  readonly sum: string;
}

export interface ArchiveCounts {
  readonly tables: { readonly [table: string]: RowsDigest };
}

/** A line: the values in the order of the table's columns. */
export interface ArchivedRow {
  readonly table: string;
  readonly row: readonly Cell[];
}

type ArchiveEntry = Extract<RetireEntry, { readonly do: "archive" }>;

/** How far nova_bm's retirement is. */
export interface Retirement {
  /** The last archive; null: none was made since the run was begun, or nova_bm was restored. */
  readonly archive: ArchiveEntry | null;
  /** Tables of it that a drop was begun of. */
  readonly begun: ReadonlySet<string>;
  readonly dropped: ReadonlySet<string>;
  /** Something was loaded, handed over or taken back since the archive. */
  readonly stale: boolean;
}

const OURS: ReadonlySet<string> = new Set(["archive", "drop", "dropped", "target"]);

const NOTHING: Retirement = { archive: null, begun: new Set(), dropped: new Set(), stale: false };

export function retirementOf(entries: Entries): Retirement {
  // Found at once, where nothing was archived, as long as a window goes.
  if (![...besideMachines(entries)].some((entry) => entry.do === "archive")) return NOTHING;
  const restored = entries.findLastIndex((entry) => entry.do === "restored");
  const last = entries.findLastIndex((entry) => entry.do === "archive");
  const archive = last < 0 ? undefined : entries.at(last);
  if (archive?.do !== "archive" || last < restored) return NOTHING;
  const since = entries.slice(last);
  const tables = (what: "drop" | "dropped"): ReadonlySet<string> =>
    new Set(since.flatMap((entry) => (entry.do === what ? [entry.table] : [])));
  return {
    archive,
    begun: tables("drop"),
    dropped: tables("dropped"),
    stale: since.some((entry) => !OURS.has(entry.do)),
  };
}

/** Whether the last table is dropped, which is the one that names the database. */
export function isRetired({ dropped }: Retirement): boolean {
  return dropped.has("migrate_version");
}

const DAY = 24 * 60 * 60 * 1000;

/** From when on its tables may be dropped, in milliseconds since 1970. */
export function graceEnd({ at, grace }: ArchiveEntry): number {
  return Date.parse(at) + grace * DAY;
}
