import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import type { DatabaseAddress } from "../../model/database.ts";
import { MigrationError, systemCode } from "../../model/error.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, askNumber, integer, isTrue, marks, string } from "../database/rows.ts";
import { literal, outside } from "./outside.ts";

const END = "_nova2ironic_rehearsal";
/** Characters of a name: PostgreSQL has 63, MySQL 64. */
const LONGEST = 63;
const ROOM = LONGEST - END.length;

/** Where the copy of a database goes, unless --into names one: beside it, by the same login. */
export function besideOf({ address, engine }: Database): DatabaseAddress {
  if (engine === "sqlite") return ofFile(address, `${address.filename}${END}`);
  const [name, room] = [address.database, ROOM];
  const own = createHash("sha256").update(name).digest("hex").slice(0, 8);
  // Two that begin alike have copies of their own.
  const stem = name.length <= room ? name : `${name.slice(0, room - 9)}_${own}`;
  return ofName(address, `${stem}${END}`);
}

/** Where a copy of this name is: earlier versions cut long names, and two that began alike had one. */
export function besideNamed(source: Database, name: string): DatabaseAddress {
  const { address, engine } = source;
  const cut = `${address.database.slice(0, ROOM)}${END}`;
  return engine !== "sqlite" && name === cut ? ofName(address, cut) : besideOf(source);
}

/**
 * Where a copy is made before it gets its name: under one that nothing else has, so that whatever a kill leaves
 * there is ours. Null where it is made in its place: MySQL renames no database, and one that was given is there.
 *
 * @param mark of 32 characters
 */
export function makingOf(
  copy: DatabaseAddress,
  mark: string,
  isGiven: boolean,
): DatabaseAddress | null {
  const { engine, filename } = copy;
  if (filename !== null)
    return ofFile(copy, `${existsSync(filename) ? realpathSync(filename) : filename}.${mark}`);
  return engine === "postgresql" && !isGiven ? ofName(copy, `nova2ironic_rehearsal_${mark}`) : null;
}

function ofFile(address: DatabaseAddress, filename: string): DatabaseAddress {
  return { ...address, filename, database: filename, shown: `sqlite:///${filename}` };
}

function ofName(address: DatabaseAddress, database: string): DatabaseAddress {
  const server = address.shown.replace(/\/[^/?]*(\?.*)?$/, "");
  return { ...address, database, shown: `${server}/${database}` };
}

/** Whether there is a database of this name, or a file. */
export async function isThere(
  source: Database,
  { database, filename }: DatabaseAddress,
): Promise<boolean> {
  if (filename !== null) return existsSync(filename);
  const sql =
    source.engine === "mysql"
      ? "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?"
      : "SELECT 1 FROM pg_database WHERE datname = ?";
  return (await ask(source, "looking for a copy", sql, [database])).length > 0;
}

/** Whether the server still makes a database, for somebody who has long gone. */
export async function isBeingMade(
  source: Database,
  { database }: DatabaseAddress,
): Promise<boolean> {
  const { engine } = source;
  if (engine === "sqlite") return false;
  const sql =
    engine === "mysql"
      ? "SELECT 1 FROM information_schema.processlist WHERE id <> connection_id() AND info LIKE 'CREATE DATABASE%' AND locate(?, info) > 0"
      : "SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE 'CREATE DATABASE%' AND strpos(query, ?) > 0";
  return (await ask(source, "looking for a copy being made", sql, [database])).length > 0;
}

/**
 * Whether a database without a mark table was made by a rehearsal all the same: MariaDB writes its mark with the
 * database itself, from 10.5 on. MySQL has no room for one.
 */
export async function isMadeAs(
  source: Database,
  { database }: DatabaseAddress,
  mark: string,
): Promise<boolean> {
  if (source.engine !== "mysql") return false;
  const sql = `SHOW CREATE DATABASE ${quoted("mysql", database)}`;
  const [row] = await ask(source, "looking at the copy", sql);
  return string(row?.["Create Database"]).includes(`COMMENT '${mark}'`);
}

/** Bytes of a database as its server counts them. @param only of these tables */
export async function bytesOf(source: Database, only?: readonly string[]): Promise<number> {
  const { engine, address } = source;
  if (engine === "sqlite") return statSync(address.filename ?? "").size;
  const some = (name: string): string =>
    only === undefined ? "" : ` AND ${name} IN (${marks(only)})`;
  const sql =
    engine === "mysql"
      ? `SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()${some("table_name")}`
      : `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')${some("c.relname")}`;
  return (await askNumber(source, "asking for the size", sql, only)) ?? 0;
}

/** How a copy is made. */
interface How {
  readonly mark: string;
  /** On PostgreSQL, with all that is in its source. */
  readonly mayBeWhole: boolean;
  /** What else to do for want of the right. */
  readonly or: string;
}

/**
 * Makes the database of a copy, which was not there.
 *
 * @returns whether it holds all that the source holds by now: PostgreSQL copies one that nobody uses, if it may
 * @throws MigrationError N2I-E350 with the statement for whoever may, N2I-E351 where it is there by now
 */
export async function makeDatabase(
  source: Database,
  copy: DatabaseAddress,
  how: How,
): Promise<boolean> {
  if (source.engine === "mysql") return inMysql(source, copy, how);
  if (source.engine === "postgresql") return inPostgres(source, copy, how);
  try {
    closeSync(openSync(copy.filename ?? "", "wx", 0o600));
  } catch (cause) {
    if (systemCode(cause) === "EEXIST") throw taken(copy);
    throw notMade(copy.filename ?? "", cause);
  }
  return false;
}

function notMade(filename: string, cause: unknown): MigrationError {
  const why = systemCode(cause) ?? "unknown";
  return new MigrationError("N2I-E350", `${filename} cannot be made (${why})`, {
    cause,
    fix: "Let this user write to that folder, or give another place: an empty file with --into.",
  });
}

async function inMysql(source: Database, copy: DatabaseAddress, how: How): Promise<boolean> {
  const settings =
    "SELECT default_character_set_name AS charset, default_collation_name AS collation FROM information_schema.schemata WHERE schema_name = DATABASE()";
  const [found] = await ask(source, "reading charsets", settings);
  const name = quoted("mysql", copy.database);
  const sql = `CREATE DATABASE ${name} CHARACTER SET ${string(found?.charset)} COLLATE ${string(found?.collation)} /*M!100500 COMMENT '${how.mark}' */`;
  const [user] = await ask(source, "asking who we are", ACCOUNT);
  // A name in a grant is a pattern.
  const pattern = name.replaceAll("_", "\\_");
  const grant = `GRANT ALL PRIVILEGES ON ${pattern}.* TO ${string(user?.account)};`;
  await perform(source, copy, sql, `${grant} ${how.or}`);
  return false;
}

const ACCOUNT =
  "SELECT concat('''', replace(substring_index(current_user(), '@', 1), '''', ''''''), '''@''', substring_index(current_user(), '@', -1), '''') AS account";

async function inPostgres(
  source: Database,
  copy: DatabaseAddress,
  { mayBeWhole, or }: How,
): Promise<boolean> {
  const [found] = await ask(source, "asking for the database", TEMPLATE);
  const name = quoted("postgresql", copy.database);
  const grant = `ALTER ROLE ${string(found?.account)} CREATEDB; ${or}`;
  const isIdle = isTrue(found?.own) && integer(found?.others) === 0;
  if (mayBeWhole && isTrue(found?.may) && isIdle) {
    const whole = `CREATE DATABASE ${name} TEMPLATE ${quoted("postgresql", source.address.database)}`;
    if (await perform(source, copy, whole, grant)) return true;
  }
  const { encoding, collation, kind } = found ?? {};
  const literal = (value: unknown): string => `'${string(value).replaceAll("'", "''")}'`;
  const settings = `ENCODING ${literal(encoding)} LC_COLLATE ${literal(collation)} LC_CTYPE ${literal(kind)}`;
  await perform(source, copy, `CREATE DATABASE ${name} TEMPLATE template0 ${settings}`, grant);
  return false;
}

const TEMPLATE = `SELECT r.rolsuper OR r.rolcreatedb AS may, r.rolsuper OR d.datistemplate OR pg_has_role(d.datdba, 'USAGE') AS own, quote_ident(current_user) AS account,
  (SELECT count(*) FROM pg_stat_activity a WHERE a.datname = d.datname AND a.pid <> pg_backend_pid()) AS others,
  pg_encoding_to_char(d.encoding) AS encoding, d.datcollate AS collation, d.datctype AS kind
  FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user`;

/** @returns false where somebody uses the database that was to be copied whole */
async function perform(
  source: Database,
  copy: DatabaseAddress,
  sql: string,
  grant: string,
): Promise<boolean> {
  return outside(source, async (on) => {
    try {
      await on.raw(literal(source, sql));
      return true;
    } catch (cause) {
      const code = systemCode(cause) ?? "";
      // Somebody connected since we counted.
      if (code === "55006") return false;
      if (code === "42P04" || code === "ER_DB_CREATE_EXISTS") throw taken(copy);
      if (!/^(42501|ER_DBACCESS_DENIED_ERROR|ER_SPECIFIC_ACCESS_DENIED_ERROR)$/.test(code))
        return source.run("making the copy", () => Promise.reject(cause as Error));
      throw new MigrationError("N2I-E350", `this user may not make ${copy.database}`, {
        cause,
        fix: `An administrator of the server says: ${grant}`,
      });
    }
  });
}

export function taken({ shown }: DatabaseAddress): MigrationError {
  return new MigrationError("N2I-E351", `${shown} is there, and this run did not make it`);
}

/**
 * Gives a copy its name, in one step.
 *
 * @param isGiven whether an empty file is there, which it takes the place of
 * @throws MigrationError N2I-E351 where something is there by now
 */
export async function giveName(
  source: Database,
  making: DatabaseAddress,
  copy: DatabaseAddress,
  isGiven: boolean,
): Promise<void> {
  if (making.filename !== null && copy.filename !== null)
    return nameFile(making.filename, copy, isGiven);
  const [from, to] = [making, copy].map(({ database }) => quoted(source.engine, database));
  const sql = `ALTER DATABASE ${from} RENAME TO ${to}`;
  return outside(source, async (on) => {
    const named = Promise.resolve(on.raw(literal(source, sql))).catch((cause: unknown) => {
      throw systemCode(cause) === "42P04" ? taken(copy) : cause;
    });
    await source.run("naming the copy", () => named);
  });
}

function nameFile(from: string, copy: DatabaseAddress, isGiven: boolean): void {
  const to = copy.filename ?? "";
  if (isGiven) {
    const real = realpathSync(to);
    if (statSync(real).size > 0) throw taken(copy);
    renameSync(from, real);
    return;
  }
  try {
    linkSync(from, to);
  } catch (cause) {
    if (systemCode(cause) === "EEXIST") throw taken(copy);
    throw notMade(to, cause);
  }
  rmSync(from);
}

/** What a kill leaves beside a file: SQLite's own, and the lock of whoever wrote. */
const LOCK = ".nova2ironic-lock";
const BESIDE = ["-journal", "-wal", "-shm", LOCK, `${LOCK}-journal`];

/** Takes a copy away that a rehearsal made: a database with all that is in it. */
export async function dropDatabase(source: Database, copy: DatabaseAddress): Promise<void> {
  if (copy.filename !== null) {
    for (const end of ["", ...BESIDE]) rmSync(`${copy.filename}${end}`, { force: true });
    return;
  }
  const sql = `DROP DATABASE ${quoted(source.engine, copy.database)}`;
  await outside(source, (on) =>
    source.run("dropping the copy", () => on.raw(literal(source, sql))),
  );
}

/** A file that was given empty is empty again. */
export function emptyFile(filename: string): void {
  truncateSync(filename);
  for (const end of BESIDE) rmSync(`${filename}${end}`, { force: true });
}
