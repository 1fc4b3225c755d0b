import { isUtf8 } from "node:buffer";
import { MigrationError } from "../../lib/error.ts";
import type { Database } from "./open.ts";
import { ask, integer, plain, text } from "./rows.ts";

/** `unreadable` values must not be guessed. */
type Deleted = boolean | null | "unreadable";

const YES: ReadonlySet<string> = new Set(["t", "true", "y", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["f", "false", "n", "no", "off"]);

/**
 * Every value except zero is deleted, because nova's own tables store the row's id. Accepts every
 * column type.
 *
 * @source facts/nova-bm.md 1.4
 */
export function softDeleted(value: unknown): Deleted {
  // The most frequent values.
  if (value === 0 || value === 0n) return false;
  if (value === 1 || value === 1n) return true;
  const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  if (bytes instanceof Uint8Array && (!isUtf8(bytes) || bytes.some((byte) => byte < 0x09)))
    return bytes.some((byte) => byte !== 0);
  const got = plain(value);
  if (got === null || typeof got === "boolean") return got;
  const text = String(got).trim().toLowerCase();
  if (YES.has(text)) return true;
  if (NO.has(text)) return false;
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isNaN(number) ? "unreadable" : number !== 0;
}

/** Excludes most deleted rows to save reading. `softDeleted` checks the remaining rows. */
export function mayBeLive(column = "deleted"): string {
  return `COALESCE(CAST(${column} AS CHAR(8)),'') NOT IN ('1','true')`;
}

/** Nova's value: 0, or the id of the deleted row. For a BIT column, 0 or 1. */
export function deletedNumber(value: unknown): number | null {
  const deleted = softDeleted(value);
  if (deleted === null || deleted === "unreadable") return null;
  return deleted ? (integer(value) ?? 1) : 0;
}

/**
 * Other tables may have a `deleted` of another type, for example nova's dns_domains and bm_ tables.
 */
const COLUMNS = [
  ...["instances", "instance_info_caches", "instance_types", "instance_type_extra_specs"],
  ...["compute_nodes", "services", "block_device_mapping", "aggregates", "aggregate_hosts"],
  ...["aggregate_metadata", "instance_extra", "migrations", "instance_actions"],
  ...["instance_actions_events", "flavors", "flavor_extra_specs"],
];

/**
 * Refuses a nova database with a `deleted` that cannot be compared with 0. SQLite accepts any type.
 *
 * @throws MigrationError N2I-E203
 */
export async function needNumbers(database: Database, option: string): Promise<void> {
  const { engine, label } = database;
  if (engine === "sqlite") return;
  const schema = engine === "mysql" ? "DATABASE()" : "ANY (current_schemas(false))";
  const numbers = engine === "mysql" ? /int|dec|num|float|double|bit/i : /int|num|real|double/i;
  const sql = `SELECT table_name AS tab, data_type AS kind FROM information_schema.columns WHERE table_schema = ${schema} AND column_name = 'deleted' AND table_name IN (...) ORDER BY 1`;
  const odd = (await ask(database, "reading the columns of nova", sql, COLUMNS))
    .filter(({ kind }) => !numbers.test(text(kind) ?? ""))
    .map(({ tab, kind }) => `${text(tab)}.deleted is ${text(kind)}`);
  if (odd.length === 0) return;
  throw new MigrationError("N2I-E203", `${option} ${label}: ${odd.join(", ")}`, {
    fix: "Nova queries its tables with deleted = 0, so Nova did not create these tables. Specify Nova's own database, or a copy with the same types.",
  });
}
