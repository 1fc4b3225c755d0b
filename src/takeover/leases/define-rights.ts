import { MigrationError } from "../../lib/error.ts";
import type { Database } from "../../systems/database/open.ts";
import { accountOf, may } from "../../systems/database/rights.ts";
import { ask, isTrue, text } from "../../systems/database/rows.ts";
import { defining } from "../../systems/database/write.ts";

/** What is to be done to a table itself. */
export interface Defining {
  readonly verb: "ALTER" | "CREATE" | "DROP";
  readonly table: string;
}

/** Statements that want the privilege, and fail on something else where it is held. */
const REFUSED: { readonly [verb in Defining["verb"]]: (table: string) => string } = {
  ALTER: (table) => `ALTER TABLE ${table} DROP COLUMN n2i_none`,
  CREATE: (table) => `CREATE TABLE ${table} (n INT, n INT)`,
  DROP: (table) => `DROP VIEW ${table}`,
};

/**
 * What an administrator says so that this user may do it; nothing where nothing is missing.
 *
 * @param database with a session that may write
 */
export async function definingGrants(
  database: Database,
  wanted: readonly Defining[],
): Promise<readonly string[]> {
  const account = await accountOf(database);
  const grants: string[] = [];
  for (const one of wanted) grants.push(...(await grantOf(database, one, account)));
  return [...new Set(grants)];
}

async function grantOf(
  database: Database,
  { verb, table }: Defining,
  account: string,
): Promise<readonly string[]> {
  const { engine, address } = database;
  switch (engine) {
    case "sqlite":
      return (await may(database, "UPDATE", table)) === "yes"
        ? []
        : [`chmod u+rw ${address.filename ?? ""}`];
    case "mysql": {
      if (await isAllowed(database, REFUSED[verb](table))) return [];
      return [
        `GRANT ${verb} ON \`${address.database.replaceAll("`", "``")}\`.${table} TO ${account}`,
      ];
    }
    case "postgresql":
      return verb === "CREATE"
        ? createGrant(database, account)
        : ownerGrant(database, table, account);
  }
}

/** Rights are looked at first: another complaint about the statement means that they are held. */
async function isAllowed(database: Database, sql: string): Promise<boolean> {
  try {
    await defining(database, "asking for privileges", sql);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    if (error.code === "N2I-E206") return false;
    if (error.code !== "N2I-E207" && error.code !== "N2I-E202") throw error;
  }
  return true;
}

async function createGrant(database: Database, account: string): Promise<readonly string[]> {
  const sql =
    "SELECT quote_ident(current_schema()) AS name, has_schema_privilege(current_schema(), 'CREATE') AS may";
  const [row] = await ask(database, "asking for privileges", sql);
  return isTrue(row?.may) ? [] : [`GRANT CREATE ON SCHEMA ${text(row?.name)} TO ${account}`];
}

/** Only who owns a table, or is of the role that does, may change or drop it. */
async function ownerGrant(
  database: Database,
  table: string,
  account: string,
): Promise<readonly string[]> {
  const sql =
    "SELECT quote_ident(pg_get_userbyid(relowner)) AS name, pg_has_role(relowner, 'USAGE') AS may FROM pg_class WHERE oid = to_regclass(?)";
  const [row] = await ask(database, "asking for privileges", sql, [table]);
  return row === undefined || isTrue(row.may) ? [] : [`GRANT ${text(row.name)} TO ${account}`];
}
