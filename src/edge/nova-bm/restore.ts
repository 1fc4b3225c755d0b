import type { Knex } from "knex";
import type { ArchivedRow, Cell, StoredTable } from "../../model/archive.ts";
import { MigrationError } from "../../model/error.ts";
import { LEASE_COLUMNS, LEASE_TABLES } from "../../model/leases.ts";
import { isSealed, type Sealed } from "../../model/secret.ts";
import { regroup } from "../../model/streams.ts";
import type { MadeTable, StoredColumn, Tables } from "../../model/tables.ts";
import { escaped, tableStatements } from "../database/create-tables.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask } from "../database/rows.ts";
import { defining, writing } from "../database/write.ts";
import { writtenAs } from "./cells.ts";
import { describeTables } from "./describe.ts";

/** What is restored. */
interface Restored {
  readonly tables: readonly StoredTable[];
  /** As nova-baremetal's own migrations leave them: keys, indexes, defaults. */
  readonly known: Tables["tables"];
  readonly charset: string | null;
  readonly rows: AsyncIterable<readonly ArchivedRow[]>;
}

/**
 * Makes the tables of an archive in an empty database, and fills them. Each batch is a transaction: what
 * a kill leaves is not empty, and the next try says so.
 *
 * @param opened of a secret what is written in its place
 * @throws MigrationError N2I-E342 when there are tables already, N2I-E343 for what this kind of server cannot hold
 */
export async function restoreTables(
  database: Database,
  { tables, known, charset, rows }: Restored,
  opened: (secret: Sealed) => Exclude<Cell, Sealed>,
): Promise<void> {
  await checkEmpty(database);
  const { engine, knex } = database;
  const made = Object.fromEntries(tables.map((table) => [table.name, madeOf(table, known)]));
  const how = { engine, ...(charset !== null && { charset }) };
  for (const statement of tableStatements(knex, made, how))
    await defining(database, "making the tables", escaped(statement));
  const named = new Map(tables.map((table) => [table.name, table]));
  for await (const batch of regroup(rows, ROWS))
    await writing(database, (trx) => fill(database, trx, { batch, named, opened }));
  if (engine === "postgresql")
    for (const [name, table] of Object.entries(made))
      for (const column of table.columns.filter(({ auto }) => auto === true))
        await countOn(database, name, column.name);
}

/** Rows of one transaction: a server that syncs each takes longer to commit a few than to write a thousand. */
const ROWS = 1000;

/** @throws MigrationError N2I-E342 */
async function checkEmpty(database: Database): Promise<void> {
  const [first] = await describeTables(database);
  if (first !== undefined)
    throw new MigrationError("N2I-E342", `${database.shown} has a table ${first.name} already`);
}

/** Keys and defaults are those of the migrations, where their columns are there; the rest is as it was found. */
function madeOf({ name, columns, primary }: StoredTable, known: Tables["tables"]): MadeTable {
  const own = known[name] ?? LEASE_TABLES[name];
  const added = name === "bm_nodes" ? LEASE_COLUMNS : [];
  const ours = new Map([...added, ...(own?.columns ?? [])].map((column) => [column.name, column]));
  const there = new Set(columns.map((column) => column.name));
  const whole = <K extends { readonly columns: readonly string[] }>(keys: readonly K[] = []) =>
    keys.filter((key) => key.columns.every((column) => there.has(column)));
  return {
    columns: columns.map((column) => wider(ours.get(column.name), column)),
    primary: own?.primary.every((column) => there.has(column)) === true ? own.primary : primary,
    unique: whole(own?.unique),
    index: whole(own?.index),
    foreign: [],
  };
}

function wider(ours: StoredColumn | undefined, found: StoredColumn): StoredColumn {
  if (ours === undefined) return found;
  if (ours.type !== "string") return ours;
  if (found.type !== "string") return { ...ours, type: found.type };
  return { ...ours, length: Math.max(ours.length ?? 0, found.length ?? 0) };
}

interface Filling {
  readonly batch: readonly ArchivedRow[];
  readonly named: ReadonlyMap<string, StoredTable>;
  readonly opened: (secret: Sealed) => Exclude<Cell, Sealed>;
}

/** Values one statement is given. */
const VALUES = 5000;

export async function fill(
  database: Database,
  trx: Knex.Transaction,
  { batch, named, opened }: Filling,
): Promise<void> {
  const { engine } = database;
  // Zero dates of old servers, ids of 0: they were there, so they are there again.
  if (engine === "mysql")
    await ask(database, "restoring", `SET SESSION sql_mode='${OLD_VALUES}'`, [], trx);
  for (const [name, table] of named) {
    const rows = batch.filter((row) => row.table === name);
    const size = Math.max(1, Math.floor(VALUES / Math.max(1, table.columns.length)));
    const columns = table.columns.map((column) => quoted(engine, column.name)).join(", ");
    for (let at = 0; at < rows.length; at += size) {
      const values: unknown[] = [];
      const tuples = rows.slice(at, at + size).map(({ row }) => {
        const marks = table.columns.map((column, of) => {
          const cell = row[of] ?? null;
          const [mark, value] = writtenAs(engine, isSealed(cell) ? opened(cell) : cell, column);
          values.push(value);
          return mark;
        });
        return `(${marks.join(", ")})`;
      });
      const sql = `INSERT INTO ${quoted(engine, name)} (${columns}) VALUES ${tuples.join(", ")}`;
      await ask(database, `restoring ${name}`, sql, values, trx);
    }
  }
}

const OLD_VALUES = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES";

/** Ids go on after the last one. */
async function countOn(database: Database, table: string, column: string): Promise<void> {
  const from = quoted("postgresql", table);
  const highest = `(SELECT max(${quoted("postgresql", column)}) FROM ${from})`;
  const sql = `SELECT setval(pg_get_serial_sequence(?, ?), coalesce(${highest}, 1), ${highest} IS NOT NULL)`;
  await writing(database, (trx) =>
    ask(database, `counting on in ${table}`, sql, [from, column], trx),
  );
}

/** Drops a table; one that is gone already is none too many. */
export async function dropTable(database: Database, name: string): Promise<void> {
  const sql = `DROP TABLE IF EXISTS ${quoted(database.engine, name)}`;
  await defining(database, `dropping ${name}`, sql);
}
