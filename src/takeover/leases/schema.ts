import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMES } from "../../lib/text.ts";
import {
  isExtended,
  isLeaseTable,
  LEASE_COLUMNS,
  LEASE_TABLES,
  lasts,
  withoutLeases,
} from "../../model/nova/leases.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Sink } from "../../run/sink.ts";
import {
  columnStatements,
  escaped,
  tableStatements,
} from "../../systems/database/create-tables.ts";
import { columnNames, tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { quoted, read } from "../../systems/database/read.ts";
import { accountOf, may } from "../../systems/database/rights.ts";
import { ask, isTrue, text } from "../../systems/database/rows.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { defining } from "../../systems/database/write.ts";
import { describeTables } from "../../systems/nova-bm/describe.ts";
import { readSchema } from "../../systems/nova-bm/open.ts";
import { readLeases } from "./leases.ts";
import { acquiredLocks } from "./locks.ts";

interface SchemaOptions {
  readonly change: "extend" | "status" | "revert";
  readonly novaBmDb: string;
}

/** @returns false if `status` finds that parts are missing */
export function leaseSchema({ change, novaBmDb }: SchemaOptions, sink: Sink): Promise<boolean> {
  return closing(async (keep) => {
    const readOnly = change === "status";
    const database = keep(await openRole("nova-bm-db", novaBmDb, { readOnly }));
    if (change === "status") return isComplete(database, sink);
    const lock = await lockTarget(database);
    try {
      await (change === "extend" ? extend : revert)(database, sink);
    } finally {
      await lock.release();
    }
    return true;
  });
}

async function isComplete(database: Database, { result }: Sink): Promise<boolean> {
  const { version, columns, tables, missing } = await leaseParts(database);
  const columnCount = withoutLeases(await columnNames(database, "bm_nodes")).length;
  result(
    `${database.label}: nova_bm version ${version}, ${counted(columnCount, "column")} in bm_nodes without leases.`,
  );
  result(`Present: ${qualified([...tables, ...columns]) || "no lease tables or columns"}.`);
  if (missing.length > 0) result(`Missing: ${qualified(missing)}.`);
  return missing.length === 0;
}

async function extend(database: Database, { result }: Sink): Promise<void> {
  const added = await extendSchema(database);
  result(
    added.length === 0
      ? `Nothing to add: nova_bm of ${database.label} is already extended.`
      : `Added to nova_bm of ${database.label}: ${qualified(added)}. Its version is 10, as before.`,
  );
}

async function revert(database: Database, { confirm, result }: Sink): Promise<void> {
  const { tables, columns } = await leaseParts(database);
  const parts = qualified([...tables, ...columns]);
  if (parts === "")
    return result(`Nothing to remove: nova_bm of ${database.label} is not extended.`);
  await confirm(`Remove ${parts} from nova_bm of ${database.label}?`);
  await revertSchema(database);
  result(`Removed from nova_bm of ${database.label}: ${parts}.`);
}

function qualified(names: readonly string[]): string {
  const isColumn = (name: string): boolean => LEASE_COLUMNS.some((column) => column.name === name);
  return names.map((name) => (isColumn(name) ? `bm_nodes.${name}` : name)).join(", ");
}

const NODES = "bm_nodes";

/** @throws MigrationError N2I-E202, N2I-E203; N2I-E360 if a fork uses one of the names */
export async function leaseParts(database: Database) {
  const { version } = await readSchema(database);
  const found = await describeTables(database);
  const nodes = new Map(
    found.find(({ name }) => name === NODES)?.columns.map((column) => [column.name, column]),
  );
  const columns = LEASE_COLUMNS.filter(({ name }) => nodes.has(name));
  const foreign = columns.filter(({ name, type }) => nodes.get(name)?.type !== type);
  const tables = found.filter(({ name }) => name in LEASE_TABLES);
  const wrong = tables.filter(
    (table) =>
      !isLeaseTable(
        table.name,
        table.columns.map(({ name }) => name),
      ),
  );
  const unexpected = [...foreign.map(({ name }) => `${NODES}.${name}`), ...wrong.map(nameOf)];
  if (unexpected.length > 0)
    throw new MigrationError(
      "N2I-E360",
      `${database.label}: ${unexpected.join(", ")} already exists, but not as created by host schema extend`,
      { fix: "Rename it, or remove it if it is not needed. Then run extend again." },
    );
  const has = new Set([...columns, ...tables].map(nameOf));
  const all = [...Object.keys(LEASE_TABLES), ...LEASE_COLUMNS.map(nameOf)];
  return {
    version,
    columns: columns.map(nameOf),
    tables: tables.map(nameOf),
    missing: all.filter((name) => !has.has(name)),
  };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/** @throws MigrationError N2I-E360 if the schema is not extended */
export async function needLeases(database: Database): Promise<void> {
  const tables = await tableNames(database);
  if (tables.has(NODES) && isExtended(tables, await columnNames(database, NODES))) return;
  throw new MigrationError("N2I-E360", `${database.label} has no lease tables, or not all of them`);
}

/** The last version of nova_bm, with which the columns were tested. */
const LAST = 10;

/**
 * Tables first, because nova_bm counts as extended only with the last column.
 *
 * @returns the added parts
 * @throws MigrationError N2I-E203, N2I-E206 with the statements for an administrator, before the
 * first write
 */
export async function extendSchema(database: Database): Promise<readonly string[]> {
  const { version, missing } = await leaseParts(database);
  if (version !== LAST)
    throw new MigrationError(
      "N2I-E203",
      `${database.label} has nova_bm schema version ${version}, but leases need version ${LAST}`,
    );
  const { engine, knex } = database;
  const columns = LEASE_COLUMNS.filter(({ name }) => missing.includes(name));
  const tables = missing.filter((name) => name in LEASE_TABLES);
  await mayDefine(database, [
    ...tables.map((table) => ({ verb: "CREATE" as const, table })),
    ...(columns.length > 0 ? [{ verb: "ALTER" as const, table: NODES }] : []),
  ]);
  // Host names and uuids are ASCII. As UTF-8, the keys are too long for older servers.
  const how = { engine, ...(engine === "mysql" && { charset: "ascii" }) };
  const made = Object.fromEntries(
    Object.entries(LEASE_TABLES).filter(([name]) => tables.includes(name)),
  );
  const statements = [
    ...tableStatements(knex, made, how),
    ...(columns.length > 0 ? columnStatements(knex, NODES, columns, engine) : []),
  ];
  for (const statement of statements)
    await defining(database, "extending nova_bm", escaped(statement));
  return missing;
}

/**
 * @returns the removed parts
 * @throws MigrationError N2I-E206 with the statements for an administrator, N2I-E361 if it is in
 * use
 */
export async function revertSchema(database: Database): Promise<readonly string[]> {
  const { columns, tables } = await leaseParts(database);
  const { engine } = database;
  const used = await inUse(database, [...columns, ...tables]);
  if (used.length > 0)
    throw new MigrationError(
      "N2I-E361",
      `${database.label}: ${used.join("; ")}; nothing was removed`,
    );
  await mayDefine(database, [
    ...(columns.length > 0 ? [{ verb: "ALTER" as const, table: NODES }] : []),
    ...tables.map((table) => ({ verb: "DROP" as const, table })),
  ]);
  const drops = columns.map((name) => `DROP COLUMN ${quoted(engine, name)}`);
  // SQLite drops one column per statement.
  const altered = engine === "sqlite" || drops.length === 0 ? drops : [drops.join(", ")];
  for (const statement of [
    ...altered.map((drop) => `ALTER TABLE ${NODES} ${drop}`),
    ...tables.map((name) => `DROP TABLE ${name}`),
  ])
    await defining(database, "reverting nova_bm", statement);
  return [...columns, ...tables];
}

/** @param parts existing parts of the extension */
async function inUse(database: Database, parts: readonly string[]): Promise<readonly string[]> {
  const has = (...names: readonly string[]): boolean => names.every((name) => parts.includes(name));
  const migrating = "task_state = 'migrating' OR prev_task_state IS NOT NULL ORDER BY id";
  const nodes = has("prev_task_state")
    ? await read(database, { id: text }, `${NODES} WHERE ${migrating}`)
    : [];
  const leases = has("bm_service_leases") ? await readLeases(database) : [];
  const locks = has("bm_locks") ? await acquiredLocks(database) : [];
  const live = leases.filter((lease) => lasts(lease) && lease.fenced_by === null);
  return [
    ...(nodes.length > 0
      ? [
          `bm_nodes.id=${listed(
            nodes.flatMap(({ id }) => id ?? []),
            NAMES,
          )} moving to another host`,
        ]
      : []),
    ...live.map(({ host }) => `the agent of ${host} runs`),
    ...locks.map(({ resource, owner }) => `${owner} holds the lock ${resource}`),
  ];
}

/** @throws MigrationError N2I-E206 */
async function mayDefine(database: Database, definitions: readonly Defining[]): Promise<void> {
  const account = await accountOf(database);
  const grants = new Set<string>();
  for (const one of definitions) {
    const grant = await grantOf(database, one, account);
    if (grant !== null) grants.add(grant);
  }
  if (grants.size === 0) return;
  throw new MigrationError(
    "N2I-E206",
    `${database.label}: its user may not change these tables, so nothing was written`,
    { fix: `Ask a database administrator to run: ${[...grants].join("; ")}` },
  );
}

interface Defining {
  readonly verb: "ALTER" | "CREATE" | "DROP";
  readonly table: string;
}

/** Statements that need the privilege. With the privilege, they fail for another reason. */
const REFUSED: { readonly [verb in Defining["verb"]]: (table: string) => string } = {
  ALTER: (table) => `ALTER TABLE ${table} DROP COLUMN n2i_none`,
  CREATE: (table) => `CREATE TABLE ${table} (n INT, n INT)`,
  DROP: (table) => `DROP VIEW ${table}`,
};

async function grantOf(
  database: Database,
  { verb, table }: Defining,
  account: string,
): Promise<string | null> {
  const { engine, address } = database;
  switch (engine) {
    case "sqlite":
      return (await may(database, "UPDATE", table)) === "yes"
        ? null
        : `chmod u+rw ${address.filename ?? ""}`;
    case "mysql":
      return (await isAllowed(database, REFUSED[verb](table)))
        ? null
        : `GRANT ${verb} ON \`${address.database.replaceAll("`", "``")}\`.${table} TO ${account}`;
    case "postgresql": {
      const [sql, values] = verb === "CREATE" ? [MAY_CREATE, []] : [MAY_CHANGE, [table]];
      const [row] = await ask(database, "asking for privileges", sql, values);
      if (row === undefined || isTrue(row.may)) return null;
      const privilege = verb === "CREATE" ? "CREATE ON SCHEMA " : "";
      return `GRANT ${privilege}${text(row.name)} TO ${account}`;
    }
  }
}

const MAY_CREATE =
  "SELECT quote_ident(current_schema()) AS name, has_schema_privilege(current_schema(), 'CREATE') AS may";

/** Only the owner of a table, or a member of its role, may change or drop it. */
const MAY_CHANGE =
  "SELECT quote_ident(pg_get_userbyid(relowner)) AS name, pg_has_role(relowner, 'USAGE') AS may FROM pg_class WHERE oid = to_regclass(?)";

/** Servers check privileges first, so any other error means that the user has the privileges. */
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
