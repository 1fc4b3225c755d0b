import { access, constants } from "node:fs/promises";
import { MigrationError } from "../../model/error.ts";
import type { Database } from "./open.ts";
import { boolean, select } from "./rows.ts";

export type Verb = "SELECT" | "INSERT" | "UPDATE" | "DELETE";

/** Statements that change no row and want the privilege all the same; every table here has the column. */
const NOTHING: { readonly [verb in Verb]: (table: string, column: string) => string } = {
  SELECT: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0`,
  INSERT: (table, column) =>
    `INSERT INTO ${table} (${column}) SELECT ${column} FROM ${table} WHERE 1 = 0`,
  UPDATE: (table, column) => `UPDATE ${table} SET ${column} = ${column} WHERE 1 = 0`,
  DELETE: (table) => `DELETE FROM ${table} WHERE 1 = 0`,
};

/**
 * What this user may not do: `INSERT nodes`. PostgreSQL's grant tables know, roles included; MySQL's
 * do not know of roles, so it is asked by statements without a row, rolled back; SQLite's privileges
 * are its file's.
 *
 * @param database with a session that may write
 * @param wanted verbs by table
 */
export async function lacking(
  database: Database,
  wanted: readonly (readonly [string, readonly Verb[]])[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [table, verbs] of wanted)
    for (const verb of verbs)
      if (!(await may(database, verb, table))) found.push(`${verb} ${table}`);
  if (database.engine !== "postgresql") return found;
  for (const [table, verbs] of wanted)
    if (verbs.includes("INSERT") && !(await mayCount(database, table)))
      found.push(`USAGE ${table}_id_seq`);
  return found;
}

/** PostgreSQL gives ids from a sequence, which has privileges of its own. */
async function mayCount(database: Database, table: string): Promise<boolean> {
  const sql =
    "SELECT coalesce(has_sequence_privilege(pg_get_serial_sequence(?, 'id'), 'USAGE'), true) AS may";
  const [row] = await database.run("asking for privileges", () =>
    select(database, database.knex, sql, [table]),
  );
  return boolean(row?.may) === true;
}

async function may(database: Database, verb: Verb, table: string): Promise<boolean> {
  const { engine, knex, address } = database;
  if (engine === "sqlite")
    return access(address.filename ?? "", verb === "SELECT" ? constants.R_OK : constants.W_OK).then(
      () => true,
      () => false,
    );
  if (engine === "postgresql") {
    const [row] = await database.run("asking for privileges", () =>
      select(database, knex, "SELECT has_table_privilege(?, ?) AS may", [table, verb]),
    );
    return boolean(row?.may) === true;
  }
  const trx = await database.run("opening a transaction", () => knex.transaction());
  try {
    await database.run(`asking for ${verb}`, () => trx.raw(NOTHING[verb](table, "created_at")));
    return true;
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    if (error.code === "N2I-E206") return false;
    // Rights are looked at first: another complaint about the statement means that they are held.
    if (error.code === "N2I-E207") return true;
    throw error;
  } finally {
    await trx.rollback();
  }
}
