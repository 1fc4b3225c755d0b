import { MigrationError } from "../../lib/error.ts";
import type { Privileges, Verb } from "../../model/database.ts";
import type { Database } from "../database/open.ts";
import { ungranted } from "../database/rights.ts";
import { REQUEST_TABLES } from "./requests.ts";

const CHANGED: readonly string[] = ["compute_nodes", "instances", "services"];
const READ = [...CHANGED, "migrations", ...REQUEST_TABLES];

/**
 * MySQL hides unreadable tables, and missing rows would permit a move.
 *
 * @throws MigrationError N2I-E206 with the missing GRANTs
 */
export function privileges(database: Database, readOnly: boolean): Promise<void> {
  const verbs = (table: string): readonly Verb[] =>
    readOnly || !CHANGED.includes(table) ? ["SELECT"] : ["SELECT", "UPDATE"];
  return needRights(database, new Map(READ.map((table) => [table, new Set(verbs(table))])));
}

/** @throws MigrationError N2I-E206 */
export function mayRead(database: Database, tables: readonly string[]): Promise<void> {
  return needRights(
    database,
    new Map(tables.map((table) => [table, new Set(["SELECT"] as const)])),
  );
}

/** @throws MigrationError N2I-E206 with the missing GRANTs */
export async function needRights(database: Database, privileges: Privileges): Promise<void> {
  const { statements, grants } = await ungranted(database, privileges);
  if (grants.length === 0) return;
  throw new MigrationError(
    "N2I-E206",
    `${database.label}: this user may not ${statements.join(", ")}`,
    { fix: `Have an administrator run: ${grants.join("; ")}` },
  );
}

/** Aggregates: in nova through Mitaka, in nova_api since Newton. */
export const AGGREGATES: readonly string[] = ["aggregates", "aggregate_hosts"];
