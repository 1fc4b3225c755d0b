import { statSync } from "node:fs";
import { MigrationError } from "../../lib/error.ts";
import type { ServerIdentity } from "../../model/artefact.ts";
import type { ServerFacts } from "../../model/check.ts";
import type { Database } from "./open.ts";
import { read } from "./read.ts";
import { ask, integer, string, text } from "./rows.ts";
import { clockOf } from "./statement.ts";

/** Includes the server's own identifier, because servers can share an address. */
export async function identify(database: Database): Promise<ServerIdentity> {
  return { ...(await identityOf(database)), ...database.originalOf };
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
          (await serverIdentifier(one, "server_uuid", "SELECT @@server_uuid AS u")) +
            (await one("SELECT @@server_id AS i, @@hostname AS h, @@datadir AS d")),
      };
    case "postgresql":
      return {
        engine,
        address: `${address.host ?? address.socket}:${address.port ?? 5432}`,
        database: address.database,
        version: await one("SHOW server_version"),
        server:
          (await serverIdentifier(
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

/** An identifier that MySQL 5.6 and PostgreSQL 9.6 introduced. Older servers refuse the query. */
async function serverIdentifier(one: (sql: string) => Promise<string>, what: string, sql: string) {
  try {
    return `${what} ${await one(sql)} `;
  } catch (error) {
    if (error instanceof MigrationError && /^N2I-E20[67]$/.test(error.code)) return "";
    throw error;
  }
}

/** Galera's identifier of the cluster, because any node may answer at an address, or null. */
export function clusterOf(status: string): string | null {
  const [, uuid] = /^wsrep_cluster_state_uuid ([0-9a-f-]{36})$/.exec(status) ?? [];
  return uuid === undefined || /^[0-]+$/.test(uuid) ? null : `wsrep cluster ${uuid}`;
}

/** Tables of the database, on PostgreSQL of the schemas in the search path. */
export async function tableNames(database: Database): Promise<ReadonlySet<string>> {
  const sql = {
    mysql:
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
    postgresql:
      // information_schema would hide tables that the user may not read.
      "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p','v','m','f')",
    sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
  }[database.engine];
  const rows = await ask(database, "listing tables", sql);
  return new Set(rows.map(({ name }) => text(name) ?? ""));
}

/**
 * Sorted. The servers list only readable columns, so the first statement requires SELECT on all.
 *
 * @throws MigrationError N2I-E206 if the user may not read a column
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

/**
 * The version of sqlalchemy-migrate and the head of alembic, its successor. Null without it.
 *
 * @param repository `nova` or `nova_api`: the row of migrate_version
 */
export async function schemaVersion(database: Database, repository: string) {
  const tables = await tableNames(database);
  const versions = "migrate_version WHERE repository_id = ?";
  const [row] = tables.has("migrate_version")
    ? await read(database, { version: integer }, versions, [repository])
    : [];
  const head = tables.has("alembic_version") ? await alembicHead(database) : null;
  return { version: row?.version ?? null, head };
}

export async function alembicHead(database: Database): Promise<string | null> {
  const rows = await read(database, { version_num: string }, "alembic_version");
  return rows.map(({ version_num }) => version_num).join("+") || null;
}

/**
 * The clock difference is a lower bound, because the query takes time.
 *
 * @param clock local time, milliseconds since 1970
 */
export async function readServer(
  database: Database,
  option: string,
  clock: () => number,
): Promise<ServerFacts> {
  const startedAt = clock();
  const sql = `SELECT ${clockOf(database.engine)} AS now`;
  // SQLite uses the local clock.
  const [row] = database.engine === "sqlite" ? [] : await ask(database, "asking for the time", sql);
  const now = integer(row?.now);
  const skew = now === null ? null : now - Math.min(Math.max(now, startedAt), clock());
  const status =
    database.engine === "mysql"
      ? await ask(database, "asking for Galera's state", "SHOW STATUS LIKE 'wsrep\\_%'")
      : [];
  const wsrep = Object.fromEntries(
    status.map(({ Variable_name, Value }) => [text(Variable_name) ?? "", text(Value) ?? ""]),
  );
  // A server with Galera support outside a cluster reports Disconnected.
  const clustered = !/^0*(-0*)*$/.test(wsrep.wsrep_cluster_state_uuid ?? "");
  const identity = await identify(database);
  const { clear, label } = database;
  return { option, label, clear, identity, skew, wsrep: clustered ? wsrep : {} };
}

interface ExpectedDatabase {
  readonly option: string;
  /** `a nova database`. */
  readonly what: string;
  readonly fix?: string;
}

/** Returns all table names. @throws MigrationError N2I-E202 if a needed table is missing */
export async function needTables(
  database: Database,
  { option, what, ...fix }: ExpectedDatabase,
  needed: readonly string[],
): Promise<ReadonlySet<string>> {
  const tables = await tableNames(database);
  const missing = needed.filter((table) => !tables.has(table));
  if (missing.length === 0) return tables;
  throw new MigrationError(
    "N2I-E202",
    `${option} ${database.label} is not ${what}, or its user may not read all of it: there is no ${missing.join(", ")}`,
    fix,
  );
}

/** @throws MigrationError N2I-E203 if a column is missing */
export async function needColumns(
  database: Database,
  option: string,
  needed: { readonly [table: string]: readonly string[] },
): Promise<void> {
  for (const [table, required] of Object.entries(needed)) {
    const columns = new Set(await columnNames(database, table));
    const missing = required.filter((column) => !columns.has(column));
    if (missing.length === 0) continue;
    const what = `${option} ${database.label}: ${table} lacks ${missing.join(", ")}`;
    throw new MigrationError("N2I-E203", what);
  }
}
