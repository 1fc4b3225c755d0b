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
import { columnStatements, tableStatements } from "../../systems/database/create-tables.ts";
import { columnNames, tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { accountOf, may as mayWrite } from "../../systems/database/rights.ts";
import { ask, isTrue, quoted, string, text } from "../../systems/database/rows.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { defining } from "../../systems/database/write.ts";
import { describeTables, readSchema } from "../../systems/nova-bm/open.ts";
import { readLeases } from "./leases.ts";
import { acquiredLocks } from "./locks.ts";

const NODES = "bm_nodes";

/** @returns false if `status` finds that parts are missing */
export function leaseSchema(
  { change, novaBmDb }: { change: "extend" | "status" | "revert"; novaBmDb: string },
  { confirm, result }: Sink,
): Promise<boolean> {
  return closing(async (keep) => {
    const readOnly = change === "status";
    const database = keep(await openRole("nova-bm-db", novaBmDb, { readOnly }));
    const { label } = database;
    if (change === "status") {
      const { version, present, missing } = await leaseParts(database);
      const columns = counted(withoutLeases(await columnNames(database, NODES)).length, "column");
      result(`${label}: nova_bm version ${version}, ${columns} in bm_nodes without leases.`);
      result(`Present: ${qualified(present) || "no lease tables or columns"}.`);
      if (missing.length > 0) result(`Missing: ${qualified(missing)}.`);
      return missing.length === 0;
    }
    const lock = await lockTarget(database);
    try {
      if (change === "extend") {
        const parts = qualified(await extendSchema(database));
        const added = `Added to nova_bm of ${label}: ${parts}. Its version is 10, as before.`;
        result(parts ? added : `Nothing to add: nova_bm of ${label} is already extended.`);
      } else {
        const question = (parts: string) => confirm(`Remove ${parts} from nova_bm of ${label}?`);
        const parts = qualified(await revertSchema(database, question));
        const removed = `Removed from nova_bm of ${label}: ${parts}.`;
        result(parts ? removed : `Nothing to remove: nova_bm of ${label} is not extended.`);
      }
    } finally {
      await lock.release();
    }
    return true;
  });
}

function qualified(names: readonly string[]): string {
  const isColumn = (name: string): boolean => LEASE_COLUMNS.some((column) => column.name === name);
  return names.map((name) => (isColumn(name) ? `bm_nodes.${name}` : name)).join(", ");
}

/** @throws MigrationError N2I-E202, N2I-E203; N2I-E360 if a fork uses one of the names */
async function leaseParts(database: Database) {
  const { version } = await readSchema(database);
  const found = await describeTables(database);
  const nodes = found.find(({ name }) => name === NODES)?.columns ?? [];
  const typeOf = new Map(nodes.map(({ name, type }) => [name, type]));
  const columns = LEASE_COLUMNS.filter(({ name }) => typeOf.has(name));
  const tables = found.filter(({ name }) => name in LEASE_TABLES);
  const unexpected = [
    ...columns.flatMap(({ name, type }) => (typeOf.get(name) === type ? [] : [`${NODES}.${name}`])),
    ...tables.flatMap((table) =>
      isLeaseTable(table.name, table.columns.map(nameOf)) ? [] : [table.name],
    ),
  ];
  if (unexpected.length > 0)
    throw new MigrationError(
      "N2I-E360",
      `${database.label}: ${unexpected.join(", ")} already exists, but not as created by host schema extend`,
      { fix: "Rename it, or remove it if it is not needed. Then run extend again." },
    );
  const present = [...tables, ...columns].map(nameOf);
  const all = [...Object.keys(LEASE_TABLES), ...LEASE_COLUMNS.map(nameOf)];
  return { version, present, missing: all.filter((name) => !present.includes(name)) };
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
  const { engine } = database;
  const columns = LEASE_COLUMNS.filter(({ name }) => missing.includes(name));
  const tables = Object.entries(LEASE_TABLES).filter(([name]) => missing.includes(name));
  await mayDefine(database, [
    ...tables.map(([name]) => ["CREATE", name] as const),
    ...columns.slice(0, 1).map(() => ["ALTER", NODES] as const),
  ]);
  // Host names and uuids are ASCII. As UTF-8, the keys are too long for older servers.
  const how = { engine, ...(engine === "mysql" && { charset: "ascii" }) };
  const statements = [
    ...tableStatements(Object.fromEntries(tables), how),
    ...columnStatements(NODES, columns, engine),
  ];
  for (const statement of statements) await defining(database, "extending nova_bm", statement);
  return missing;
}

/**
 * @param confirm receives the parts if there are any
 * @returns the removed parts
 * @throws MigrationError N2I-E206 with the statements for an administrator, N2I-E361 if it is in
 * use
 */
export async function revertSchema(
  database: Database,
  confirm: (parts: string) => Promise<void>,
): Promise<readonly string[]> {
  const { present } = await leaseParts(database);
  if (present.length === 0) return [];
  await confirm(qualified(present));
  const { engine } = database;
  const used = await inUse(database, present);
  if (used.length > 0)
    throw new MigrationError(
      "N2I-E361",
      `${database.label}: ${used.join("; ")}; nothing was removed`,
    );
  const tables = present.filter((name) => name in LEASE_TABLES);
  const columns = present.filter((name) => !(name in LEASE_TABLES));
  await mayDefine(database, [
    ...columns.slice(0, 1).map(() => ["ALTER", NODES] as const),
    ...tables.map((name) => ["DROP", name] as const),
  ]);
  const drops = columns.map((name) => `DROP COLUMN ${quoted(engine, name)}`);
  // SQLite drops one column per statement.
  const altered = engine === "sqlite" || drops.length === 0 ? drops : [drops.join(", ")];
  for (const statement of [
    ...altered.map((drop) => `ALTER TABLE ${NODES} ${drop}`),
    ...tables.map((name) => `DROP TABLE ${name}`),
  ])
    await defining(database, "reverting nova_bm", statement);
  return present;
}

/** @param parts existing parts of the extension */
async function inUse(database: Database, parts: readonly string[]): Promise<readonly string[]> {
  const migrating = "task_state = 'migrating' OR prev_task_state IS NOT NULL ORDER BY id";
  const nodes = parts.includes("prev_task_state")
    ? await read(database, { id: string }, `${NODES} WHERE ${migrating}`)
    : [];
  const leases = parts.includes("bm_service_leases") ? await readLeases(database) : [];
  const locks = parts.includes("bm_locks") ? await acquiredLocks(database) : [];
  const live = leases.filter((lease) => lasts(lease) && lease.fenced_by === null);
  const ids = nodes.map(({ id }) => id);
  return [
    ...(ids.length > 0 ? [`bm_nodes.id=${listed(ids, NAMES)} moving to another host`] : []),
    ...live.map(({ host }) => `the agent of ${host} runs`),
    ...locks.map(({ resource, owner }) => `${owner} holds the lock ${resource}`),
  ];
}

/** @throws MigrationError N2I-E206 */
async function mayDefine(
  database: Database,
  definitions: readonly (readonly [keyof typeof REFUSED, string])[],
): Promise<void> {
  const account = await accountOf(database);
  const grants = new Set<string>();
  for (const [verb, table] of definitions) {
    const grant = await grantOf(database, verb, table, account);
    if (grant !== null) grants.add(grant);
  }
  if (grants.size === 0) return;
  throw new MigrationError(
    "N2I-E206",
    `${database.label}: its user may not change these tables, so nothing was written`,
    { fix: `Ask a database administrator to run: ${[...grants].join("; ")}` },
  );
}

/** Statements that need the privilege. With the privilege, they fail for another reason. */
const REFUSED = {
  ALTER: (table: string) => `ALTER TABLE ${table} DROP COLUMN n2i_none`,
  CREATE: (table: string) => `CREATE TABLE ${table} (n INT, n INT)`,
  DROP: (table: string) => `DROP VIEW ${table}`,
};

async function grantOf(
  database: Database,
  verb: keyof typeof REFUSED,
  table: string,
  account: string,
): Promise<string | null> {
  const { engine, address } = database;
  if (engine === "sqlite") {
    const may = await mayWrite(database, "UPDATE", table);
    return may === "yes" ? null : `chmod u+rw ${address.filename ?? ""}`;
  }
  if (engine === "mysql") {
    const name = address.database.replaceAll("`", "``");
    const may = await isAllowed(database, REFUSED[verb](table));
    return may ? null : `GRANT ${verb} ON \`${name}\`.${table} TO ${account}`;
  }
  const [sql, values] = verb === "CREATE" ? [MAY_CREATE, []] : [MAY_CHANGE, [table]];
  const [row] = await ask(database, "asking for privileges", sql, values);
  if (row === undefined || isTrue(row.may)) return null;
  const privilege = verb === "CREATE" ? "CREATE ON SCHEMA " : "";
  return `GRANT ${privilege}${text(row.name)} TO ${account}`;
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
