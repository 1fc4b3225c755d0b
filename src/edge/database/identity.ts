import { statSync } from "node:fs";
import type { ServerIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { Database } from "./open.ts";
import { select, text } from "./rows.ts";

/** Two servers of one address are told apart by what the server calls itself. */
export async function identify(database: Database): Promise<ServerIdentity> {
  const { engine, knex, address } = database;
  const one = async (sql: string): Promise<string> => {
    const [row] = await database.run("asking who the server is", () => select(database, knex, sql));
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
  const rows = await database.run("listing tables", () => select(database, database.knex, sql));
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
  const rows = await database.run(`reading the columns of ${table}`, async () => {
    await select(database, database.knex, `SELECT * FROM ${table} LIMIT 0`);
    return select(database, database.knex, sql, [table]);
  });
  return rows.map(({ name }) => text(name) ?? "").sort();
}
