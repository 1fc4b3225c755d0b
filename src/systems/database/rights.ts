import { access, constants } from "node:fs/promises";
import { MigrationError } from "../../lib/error.ts";
import type { Lacking, Privileges, Verb } from "../../model/database.ts";
import { tableNames } from "./identity.ts";
import { type Database, readOnlyServer } from "./open.ts";
import { ask, boolean, text } from "./rows.ts";
import { endWriting, openWriting } from "./write.ts";

/** A column every table has that is asked about, in every release: test/tables.test.ts. */
export const ASKED_BY = "created_at";

/** Statements that change no row and want the privilege all the same. */
const NOTHING: { readonly [verb in Verb]: (table: string) => string } = {
  SELECT: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0`,
  LOCK: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0 FOR UPDATE`,
  INSERT: (table) =>
    `INSERT INTO ${table} (${ASKED_BY}) SELECT ${ASKED_BY} FROM ${table} WHERE 1 = 0`,
  UPDATE: (table) => `UPDATE ${table} SET ${ASKED_BY} = ${ASKED_BY} WHERE 1 = 0`,
  DELETE: (table) => `DELETE FROM ${table} WHERE 1 = 0`,
};

const PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/** The privilege that lets rows be locked: the least that all servers take for it. */
function privilegeOf(verb: Verb): string {
  return verb === "LOCK" ? "UPDATE" : verb;
}

/**
 * What this user may not do, and what its administrator says to change that. PostgreSQL's grant tables
 * know, roles included; MySQL's do not know of roles, so it is asked by statements without a row,
 * rolled back; SQLite's privileges are its file's.
 *
 * @param database with a session that may write, unless only SELECT is wanted
 * @throws MigrationError N2I-E206 when the server itself is read-only
 */
export async function lacking(database: Database, wanted: Privileges): Promise<Lacking> {
  if (database.frozen) throw readOnlyServer(database.shown);
  const statements: string[] = [];
  const grants: string[] = [];
  const missing: string[] = [];
  const there = database.engine === "mysql" ? null : await tableNames(database);
  const account = await accountOf(database);
  for (const [table, verbs] of wanted) {
    const answers = new Map<string, Answer>();
    for (const verb of there?.has(table) === false ? [] : verbs)
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

/** How a statement names the user we are; a file has none. */
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

/** PostgreSQL gives ids from a sequence, which has privileges of its own; its name where we lack them. */
async function counterOf(database: Database, table: string): Promise<string | null> {
  // Not every table has the column, and PostgreSQL refuses to be asked of one that is not there.
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
    // Of a table that is gone by now it says NULL, which is no.
    const sql = "SELECT has_table_privilege(to_regclass(?)::oid, ?) AS may";
    const [row] = await ask(database, "asking for privileges", sql, [table, privilegeOf(verb)]);
    return boolean(row?.may) === true ? "yes" : "no";
  }
  // To read, a session that only reads will do, and may be all there is.
  const trx = verb === "SELECT" ? null : await openWriting(database);
  try {
    await database.run(`asking for ${verb}`, () => (trx ?? knex).raw(NOTHING[verb](table)));
    return "yes";
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    if (error.code === "N2I-E206") return "no";
    if (error.code === "N2I-E202") return "missing";
    // Rights are looked at first: another complaint about the statement means that they are held.
    if (error.code === "N2I-E207") return "yes";
    throw error;
  } finally {
    if (trx !== null) await endWriting(database, trx);
  }
}
