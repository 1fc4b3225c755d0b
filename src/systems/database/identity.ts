import { statSync } from "node:fs";
import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import type { ServerIdentity } from "../../model/artefact.ts";
import type { ServerFacts } from "../../model/check.ts";
import type { Database } from "./open.ts";
import { ask, integer, text } from "./rows.ts";
import { clockOf } from "./statement.ts";

/** Two servers of one address differ by what the server calls itself. */
export async function identify(database: Database): Promise<ServerIdentity> {
  return { ...(await identityOf(database)), ...database.standsFor };
}

async function identityOf(database: Database): Promise<ServerIdentity> {
  const { engine, address } = database;
  const one = async (sql: string): Promise<string> => {
    const [row] = await ask(database, "asking who the server is", sql);
    return Object.values(row ?? {})
      .map(text)
      .join(" ");
  };
  switch (engine) {
    case "mysql":
      return {
        engine,
        address: address.socket ?? `${address.host}:${address.port ?? 3306}`,
        database: address.database,
        version: await one("SELECT VERSION() AS v"),
        server:
          clusterOf(await one("SHOW STATUS LIKE 'wsrep_cluster_state_uuid'")) ??
          (await named(one, "server_uuid", "SELECT @@server_uuid AS u")) +
            (await one("SELECT @@server_id AS i, @@hostname AS h, @@datadir AS d")),
      };
    case "postgresql":
      return {
        engine,
        address: `${address.host ?? address.socket}:${address.port ?? 5432}`,
        database: address.database,
        version: await one("SHOW server_version"),
        server:
          (await named(
            one,
            "system",
            "SELECT system_identifier::text AS s FROM pg_control_system()",
          )) +
          (await one(
            "SELECT oid::text AS o, pg_postmaster_start_time() IS NOT NULL AS up FROM pg_database WHERE datname = current_database()",
          )),
      };
    case "sqlite": {
      const { ino, dev } = statSync(address.filename ?? "");
      return {
        engine,
        address: address.filename ?? "",
        database: address.database,
        version: await one("SELECT sqlite_version() AS v"),
        server: `${dev}:${ino}`,
      };
    }
  }
}

/** A name of its own that a server may have: MySQL 5.6, PostgreSQL 9.6. Others refuse the question. */
async function named(
  one: (sql: string) => Promise<string>,
  what: string,
  sql: string,
): Promise<string> {
  try {
    return `${what} ${await one(sql)} `;
  } catch (error) {
    if (error instanceof MigrationError && /^N2I-E20[67]$/.test(error.code)) return "";
    throw error;
  }
}

/**
 * Galera's name for all its nodes: behind one address any of them may answer, and another one after
 * a failover. Null on a server that is in no cluster.
 */
export function clusterOf(status: string): string | null {
  const [, uuid] = /^wsrep_cluster_state_uuid ([0-9a-f-]{36})$/.exec(status) ?? [];
  return uuid === undefined || /^[0-]+$/.test(uuid) ? null : `wsrep cluster ${uuid}`;
}

/** Names of the tables of this database (and, on PostgreSQL, of the search path's schema). */
export async function tableNames(database: Database): Promise<ReadonlySet<string>> {
  const sql = {
    mysql:
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
    postgresql:
      // information_schema hides what the user may not read; a table hidden is not a table missing.
      "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p','v','m','f')",
    sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
  }[database.engine];
  const rows = await ask(database, "listing tables", sql);
  return new Set(rows.map(({ name }) => text(name) ?? ""));
}

/**
 * Column names of a table, sorted, so that every engine gives the same order. The servers list only
 * the columns a user may read; a column hidden from this one would be lost, so all are asked for.
 *
 * @throws MigrationError N2I-E206 when there are columns this user may not read
 */
export async function columnNames(database: Database, table: string): Promise<readonly string[]> {
  const sql = {
    mysql:
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?",
    postgresql:
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false)) AND table_name = ?",
    sqlite: "SELECT name FROM pragma_table_info(?)",
  }[database.engine];
  const doing = `reading the columns of ${table}`;
  await ask(database, doing, `SELECT * FROM ${table} LIMIT 0`);
  const rows = await ask(database, doing, sql, [table]);
  return rows.map(({ name }) => text(name) ?? "").sort();
}

/** How far a database's own migrations got. */
interface SchemaVersion {
  /** Of sqlalchemy-migrate; null where there is none, or none any more. */
  readonly version: number | null;
  /** Of alembic, which took over from it later. */
  readonly head: string | null;
}

/**
 * Reads what the migrations left of themselves.
 *
 * @param repository `nova`, `nova_api`: whose row of migrate_version it is
 * @param on a transaction, to read it beside the rows it is about
 */
export async function schemaVersion(
  database: Database,
  repository: string,
  on: Knex = database.knex,
): Promise<SchemaVersion> {
  const tables = await tableNames({ ...database, knex: on });
  const read = async (table: string, sql: string, values: readonly string[] = []) =>
    tables.has(table) ? ask(database, `reading ${table}`, sql, values, on) : [];
  const versions = "SELECT version FROM migrate_version WHERE repository_id = ?";
  const [row] = await read("migrate_version", versions, [repository]);
  const [head] = await read("alembic_version", "SELECT version_num FROM alembic_version");
  return { version: integer(row?.version), head: text(head?.version_num) };
}

/** Alembic's revision, of a database that is known to have one. @param on a transaction */
export async function alembicHead(database: Database, on: Knex): Promise<string | null> {
  const sql = "SELECT version_num FROM alembic_version";
  const [head] = await ask(database, "reading alembic_version", sql, [], on);
  return text(head?.version_num);
}

/**
 * The least difference between the server's clock and ours, because the answer may have taken long, and the state of
 * its Galera cluster.
 *
 * @param clock ours, milliseconds since 1970
 */
export async function readServer(
  database: Database,
  option: string,
  clock: () => number,
): Promise<ServerFacts> {
  const asked = clock();
  const sql = `SELECT ${clockOf(database.engine)} AS now`;
  // SQLite's is our own.
  const [row] = database.engine === "sqlite" ? [] : await ask(database, "asking for the time", sql);
  const now = integer(row?.now);
  const ahead = now === null ? null : now - Math.min(Math.max(now, asked), clock());
  const status =
    database.engine === "mysql"
      ? await ask(database, "asking for Galera's state", "SHOW STATUS LIKE 'wsrep\\_%'")
      : [];
  const wsrep = Object.fromEntries(
    status.map(({ Variable_name, Value }) => [text(Variable_name) ?? "", text(Value) ?? ""]),
  );
  // A server built with Galera and in no cluster calls itself Disconnected.
  const clustered = !/^0*(-0*)*$/.test(wsrep.wsrep_cluster_state_uuid ?? "");
  const identity = await identify(database);
  const { clear, shown } = database;
  return { option, shown, clear, identity, ahead, wsrep: clustered ? wsrep : {} };
}

/** Which database an option names, for what refuses it. */
interface Wanted {
  readonly option: string;
  /** `a nova database`. */
  readonly what: string;
  readonly fix?: string;
}

/**
 * The names of all tables, once it is known that these are among them.
 *
 * @throws MigrationError N2I-E202 when one is missing
 */
export async function needTables(
  database: Database,
  { option, what, ...fix }: Wanted,
  needed: readonly string[],
): Promise<ReadonlySet<string>> {
  const tables = await tableNames(database);
  const missing = needed.filter((table) => !tables.has(table));
  if (missing.length === 0) return tables;
  throw new MigrationError(
    "N2I-E202",
    `${option} ${database.shown} is not ${what}, or its user may not read all of it: there is no ${missing.join(", ")}`,
    fix,
  );
}

/** @throws MigrationError N2I-E203 when a table lacks a column */
export async function needColumns(
  database: Database,
  option: string,
  needed: { readonly [table: string]: readonly string[] },
): Promise<void> {
  for (const [table, wanted] of Object.entries(needed)) {
    const there = new Set(await columnNames(database, table));
    const lacking = wanted.filter((column) => !there.has(column));
    if (lacking.length === 0) continue;
    const what = `${option} ${database.shown}: ${table} lacks ${lacking.join(", ")}`;
    throw new MigrationError("N2I-E203", what);
  }
}
