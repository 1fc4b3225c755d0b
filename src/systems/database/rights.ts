import { access, constants } from "node:fs/promises";
import { MigrationError } from "../../lib/error.ts";
import type { Privileges, Ungranted, Verb } from "../../model/database.ts";
import { tableNames } from "./identity.ts";
import { type Database, readOnlyServer } from "./open.ts";
import { ask, boolean, text } from "./rows.ts";
import { endWriting, openWriting } from "./write.ts";

/** A column of every checked table in every release. test/tables.test.ts checks this. */
export const PROBE_COLUMN = "created_at";

/** Statements that change no row but require the privilege. */
const NOTHING: { readonly [verb in Verb]: (table: string) => string } = {
  SELECT: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0`,
  LOCK: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0 FOR UPDATE`,
  INSERT: (table) =>
    `INSERT INTO ${table} (${PROBE_COLUMN}) SELECT ${PROBE_COLUMN} FROM ${table} WHERE 1 = 0`,
  UPDATE: (table) => `UPDATE ${table} SET ${PROBE_COLUMN} = ${PROBE_COLUMN} WHERE 1 = 0`,
  DELETE: (table) => `DELETE FROM ${table} WHERE 1 = 0`,
};

const PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/** Locking rows requires UPDATE on some servers. */
function privilegeOf(verb: Verb): string {
  return verb === "LOCK" ? "UPDATE" : verb;
}

/**
 * Missing privileges and their GRANTs. PostgreSQL's functions include roles. MySQL's grant tables
 * do not, so statements without rows are tried and rolled back. On SQLite the file's mode decides.
 *
 * @param database with a writable session, unless only SELECT is checked
 * @throws MigrationError N2I-E206 if the server is read-only
 */
export async function ungranted(database: Database, privileges: Privileges): Promise<Ungranted> {
  if (database.frozen) throw readOnlyServer(database.label);
  const statements: string[] = [];
  const grants: string[] = [];
  const missing: string[] = [];
  const tables = database.engine === "mysql" ? null : await tableNames(database);
  const account = await accountOf(database);
  for (const [table, verbs] of privileges) {
    const answers = new Map<string, Answer>();
    for (const verb of tables?.has(table) === false ? [] : verbs)
      answers.set(privilegeOf(verb), await may(database, verb, table));
    if (answers.size === 0 || [...answers.values()].includes("missing")) {
      missing.push(table);
      continue;
    }
    const refused = PRIVILEGES.filter((privilege) => answers.get(privilege) === "no");
    statements.push(...refused.map((privilege) => `${privilege} ${table}`));
    if (refused.length > 0) grants.push(grant(database, refused.join(", "), table, account));
    if (database.engine !== "postgresql" || !verbs.has("INSERT")) continue;
    const counter = await counterOf(database, table);
    if (counter === null) continue;
    statements.push(`USAGE ${table}_id_seq`);
    grants.push(`GRANT USAGE ON SEQUENCE ${counter} TO ${account}`);
  }
  return { statements, grants: [...new Set(grants)], missing };
}

/** The current user in a GRANT statement. Empty for SQLite. */
export async function accountOf(database: Database): Promise<string> {
  const sql = {
    mysql:
      "SELECT concat('''', replace(substring_index(current_user(), '@', 1), '''', ''''''), '''@''', substring_index(current_user(), '@', -1), '''') AS account",
    postgresql: "SELECT quote_ident(current_user) AS account",
    sqlite: null,
  }[database.engine];
  if (sql === null) return "";
  const [row] = await ask(database, "asking who we are", sql);
  return text(row?.account) ?? "";
}

function grant({ engine, address }: Database, verbs: string, table: string, to: string): string {
  if (engine === "sqlite") return `chmod u+rw ${address.filename ?? ""}`;
  if (engine === "postgresql") return `GRANT ${verbs} ON ${table} TO ${to}`;
  const name = address.database.replaceAll("`", "``");
  return `GRANT ${verbs} ON \`${name}\`.${table} TO ${to}`;
}

/** The id sequence if this user lacks USAGE on it, else null. PostgreSQL only. */
async function counterOf(database: Database, table: string): Promise<string | null> {
  // A function call with a missing column would fail.
  const sql =
    "SELECT s.name AS name FROM (SELECT pg_get_serial_sequence(?, a.attname) AS name FROM pg_attribute a WHERE a.attrelid = to_regclass(?) AND a.attname = 'id' AND NOT a.attisdropped) s WHERE NOT has_sequence_privilege(s.name, 'USAGE')";
  const [row] = await ask(database, "asking for privileges", sql, [table, table]);
  return text(row?.name);
}

type Answer = "yes" | "no" | "missing";

export async function may(database: Database, verb: Verb, table: string): Promise<Answer> {
  const { engine, knex, address } = database;
  if (engine === "sqlite")
    return access(address.filename ?? "", verb === "SELECT" ? constants.R_OK : constants.W_OK).then(
      () => "yes",
      () => "no",
    );
  if (engine === "postgresql") {
    // NULL for a table that no longer exists, which means no.
    const sql = "SELECT has_table_privilege(to_regclass(?)::oid, ?) AS may";
    const [row] = await ask(database, "asking for privileges", sql, [table, privilegeOf(verb)]);
    return boolean(row?.may) === true ? "yes" : "no";
  }
  // SELECT needs no writable session, and the user may have only a read-only one.
  const trx = verb === "SELECT" ? null : await openWriting(database);
  try {
    await database.run(`asking for ${verb}`, () => (trx ?? knex).raw(NOTHING[verb](table)));
    return "yes";
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    if (error.code === "N2I-E206") return "no";
    if (error.code === "N2I-E202") return "missing";
    // Servers check privileges first, so another error means that the privilege exists.
    if (error.code === "N2I-E207") return "yes";
    throw error;
  } finally {
    if (trx !== null) await endWriting(database, trx);
  }
}
