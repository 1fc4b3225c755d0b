import { NOVA_DATABASES } from "../../test/lab/cloud/nova.ts";
import { PLACEMENT_DATABASE } from "../../test/lab/cloud/placement.ts";
import { LEGACY_DATABASE } from "./base.ts";
import type { Stack } from "./stack.ts";

/** The product's own name, in whatever it writes that is not of a service. */
const OURS = "nova2ironic";
/** Columns of Ironic's nodes that hold words. */
const WORDS = "maintenance_reason, protected_reason, description, extra, driver_internal_info";

/** What may be of the product's: words in rows, flags, locks, sessions, flavors, tables. */
export async function traces(stack: Stack): Promise<readonly string[]> {
  const { cell, api } = NOVA_DATABASES;
  const databases = [LEGACY_DATABASE, cell, api, PLACEMENT_DATABASE, stack.ironic.database];
  const ironic = stack.db(stack.ironic.database);
  const words: readonly { readonly uuid: string }[] = await ironic("nodes").whereRaw(
    `CONCAT_WS(' ', ${WORDS}) LIKE ?`,
    [`%${OURS}%`],
  );
  const flags: readonly { readonly uuid: string }[] = await ironic("nodes")
    .whereNotNull("reservation")
    .orWhere({ protected: true })
    .orWhereNotNull("automated_clean");
  const flavors: readonly { readonly flavorid: string }[] = await stack
    .db(api)("flavors")
    .where("flavorid", "like", `${OURS}%`);
  const left = stack.server.engine === "postgresql" ? onPostgres : onMariadb;
  return [
    ...words.map(({ uuid }) => `words in ${uuid}`),
    ...flags.map(({ uuid }) => `flags of ${uuid}`),
    ...flavors.map(({ flavorid }) => `flavor ${flavorid}`),
    ...(await left(stack, databases)),
  ];
}

/** Sessions, tables and locks. */
async function onMariadb(
  { db, ironic }: Stack,
  databases: readonly string[],
): Promise<readonly string[]> {
  const server = db(ironic.database);
  const sessions: readonly string[] = await server("information_schema.processlist")
    .where("user", "like", "tool\\_%")
    .pluck("user");
  const tables: readonly string[] = await server("information_schema.tables")
    .where("table_name", "like", `%${OURS}%`)
    .pluck("table_name");
  const locks: string[] = [];
  for (const name of databases)
    for (const lock of [OURS, `${OURS}.write`]) {
      const [[row]] = await server.raw("SELECT IS_USED_LOCK(CONCAT(?, '.', MD5(?))) AS id", [
        lock,
        name,
      ]);
      if (row?.id !== null) locks.push(`${lock} on ${name}`);
    }
  return told(sessions, tables, locks);
}

/** Its catalog tells of sessions and locks in every database, and of the tables of one. */
async function onPostgres(
  { db, ironic }: Stack,
  databases: readonly string[],
): Promise<readonly string[]> {
  const server = db(ironic.database);
  const sessions: readonly string[] = await server("pg_stat_activity")
    .where("usename", "like", "tool\\_%")
    .pluck("usename");
  // No service here takes one.
  const locks: readonly string[] = await server("pg_locks")
    .leftJoin("pg_database", "pg_database.oid", "pg_locks.database")
    .where({ locktype: "advisory" })
    .pluck("datname");
  const tables: string[] = [];
  for (const name of databases)
    tables.push(
      ...(await db(name)("pg_tables").where("tablename", "like", `%${OURS}%`).pluck("tablename")),
    );
  return told(
    sessions,
    tables,
    locks.map((name) => `an advisory lock on ${name}`),
  );
}

function told(
  sessions: readonly string[],
  tables: readonly string[],
  locks: readonly string[],
): readonly string[] {
  return [
    ...sessions.map(() => "a session"),
    ...tables.map((name) => `table ${name}`),
    ...locks.map((name) => `lock ${name}`),
  ];
}
