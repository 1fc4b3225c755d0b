import { basename } from "node:path";
import { type Database, openDatabase, readTransaction } from "../edge/database/open.ts";
import { openArtefact } from "../edge/disk/artefact-reader.ts";
import { createArtefact } from "../edge/disk/artefact-writer.ts";
import { loadTables } from "../edge/disk/load-tables.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { withScratch } from "../edge/disk/scratch.ts";
import { describeTables } from "../edge/nova-bm/describe.ts";
import { restoreTables } from "../edge/nova-bm/restore.ts";
import { readRows, rowsSum } from "../edge/nova-bm/stored-rows.ts";
import {
  ARCHIVE,
  type ArchiveCounts,
  type ArchivedRow,
  type ArchiveHeader,
  type Cell,
  type RowsDigest,
  type StoredTable,
} from "../model/archive.ts";
import type { DatabaseAddress } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import type { Json } from "../model/json.ts";
import { isSealed, isSecretName, type Seal, type Sealed } from "../model/secret.ts";
import { listed } from "../model/text.ts";
import { failpoint } from "./failpoint.ts";
import { patience } from "./patience.ts";
import type { Progress } from "./sink.ts";

type Tables = ArchiveCounts["tables"];

/** The archive of a run, after it was compared with its digest. @throws MigrationError N2I-E110 to N2I-E113 */
export function openArchive({ path }: RunFolder) {
  return openArtefact<ArchiveHeader, ArchivedRow, ArchiveCounts>(`${path}/${ARCHIVE}`, "archive");
}

/** Writes every row of every table into the run, its secrets sealed. */
export async function writeArchive(
  run: RunFolder,
  database: Database,
  header: ArchiveHeader,
  seal: Seal,
  progress: Progress,
): Promise<{ readonly sha256: string; readonly tables: Tables }> {
  const writer = await createArtefact(run, ARCHIVE, header);
  try {
    await failpoint("archive.begun");
    let rows = 0;
    const tables = await sumTables(
      database,
      header.tables,
      keepSealed(seal),
      async (table, row) => {
        rows += 1;
        if (rows % 1000 === 0) progress(rows);
        const line: ArchivedRow = { table, row };
        await writer.write(line);
      },
    );
    const counts: ArchiveCounts = { tables };
    const { sha256 } = await writer.finish(counts);
    return { sha256, tables };
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/**
 * Proves an archive: it is restored, by the code that restores it for an operator, into a private SQLite
 * file that is gone afterwards, and both it and the source are read once more. Secrets stay sealed there, and
 * each is opened once.
 *
 * @throws MigrationError N2I-E343 naming the tables that differ
 */
export async function proveArchive(run: RunFolder, source: Database, seal: Seal): Promise<void> {
  const { header, footer, lines } = await openArchive(run);
  const written = footer.footer.tables;
  const again = await sumTables(source, header.tables, keepSealed(seal));
  differing(written, again, `${source.shown} changed while it was archived`);
  const found = await withScratch(run.path, "restored.sqlite", async (path) => {
    const scratch = await openDatabase(fileAt(path), { readOnly: false, patience: patience() });
    try {
      await restoreTables(scratch, { ...shapeOf(header), rows: lines() }, (secret) => {
        seal.open(secret);
        return JSON.stringify(secret);
      });
      await failpoint("archive.restored");
      const tables = await describeTables(scratch);
      return await sumTables(scratch, inOrder(tables, header.tables), keepWritten);
    } finally {
      await scratch.close();
    }
  });
  differing(written, found, `the archive does not restore to what ${source.shown} holds`);
}

/**
 * Restores the archive into an empty database, and compares what is there then with the archive.
 *
 * @throws MigrationError N2I-E342, N2I-E343
 */
export async function restoreArchive(
  run: RunFolder,
  database: Database,
  seal: Seal,
): Promise<ArchiveHeader> {
  const { header, lines } = await openArchive(run);
  const opened = (secret: Sealed) => JSON.parse(seal.open(secret)) as Exclude<Cell, Sealed>; // as it was sealed
  await restoreTables(database, { ...shapeOf(header), rows: lines() }, opened);
  await failpoint("restore.filled");
  const plain = { plain: true };
  const sums = new Map(header.tables.map(({ name, columns }) => [name, rowsSum(columns, plain)]));
  for await (const batch of lines()) for (const { table, row } of batch) sums.get(table)?.add(row);
  const wanted = Object.fromEntries([...sums].map(([name, sum]) => [name, sum.result()]));
  const there = inOrder(await describeTables(database), header.tables);
  const found = await sumTables(database, there, keepSealed(seal), undefined, plain);
  differing(wanted, found, `${database.shown} does not hold what the archive holds`);
  return header;
}

/** Columns as the archive has them, under the types that it has: a BIT is a number there, too. */
function inOrder(
  found: readonly StoredTable[],
  archived: readonly StoredTable[],
): readonly StoredTable[] {
  const there = new Map(found.map((table) => [table.name, table]));
  return archived.flatMap((table) => {
    const { primary } = there.get(table.name) ?? {};
    return primary === undefined ? [] : [table];
  });
}

function shapeOf({ source, tables, charset }: ArchiveHeader) {
  return { tables, charset, known: loadTables("nova_bm", source.schema_version).tables };
}

/** How a secret of a row is kept. */
type Keep = (cell: Cell, place: string) => Cell;

function keepSealed(seal: Seal): Keep {
  return (cell, place) => (cell === null ? null : seal.seal(JSON.stringify(cell), place));
}

/** In the copy it is as the archive has it, written out. */
const keepWritten: Keep = (cell) => {
  const value = typeof cell === "string" ? (JSON.parse(cell) as Json) : cell;
  return isSealed(value) ? value : cell;
};

/** What each table holds at one moment, and each row to whoever wants it. */
async function sumTables(
  database: Database,
  tables: readonly StoredTable[],
  keep: Keep,
  each: (table: string, row: readonly Cell[]) => Promise<void> | void = () => undefined,
  how: { readonly plain: boolean } = { plain: false },
): Promise<Tables> {
  const trx = await readTransaction(database);
  try {
    const sums: Record<string, RowsDigest> = {};
    for (const table of tables) {
      const sum = rowsSum(table.columns, how);
      const kept = keeper(table, keep);
      for await (const page of readRows(database, trx, table))
        for (const row of page.map(kept)) {
          sum.add(row);
          await each(table.name, row);
        }
      sums[table.name] = sum.result();
    }
    return sums;
  } finally {
    await trx.rollback();
  }
}

/** A row with its secrets kept as they are to be, each in a place of its own. */
function keeper({ name, columns, primary }: StoredTable, keep: Keep) {
  const secrets = new Set(columns.flatMap((column, at) => (isSecretName(column.name) ? [at] : [])));
  const key = columns.flatMap((column, at) => (primary.includes(column.name) ? [at] : []));
  return (row: readonly Cell[]): readonly Cell[] => {
    if (secrets.size === 0) return row;
    const which = key.map((at) => JSON.stringify(row[at])).join(" ");
    return row.map((cell, at) =>
      secrets.has(at) ? keep(cell, `${name}.${columns[at]?.name} ${which}`) : cell,
    );
  };
}

/** @throws MigrationError N2I-E343 */
function differing(wanted: Tables, found: Tables, what: string): void {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  const wrong = names.filter((name) => !isSame(wanted[name], found[name]));
  if (wrong.length > 0) throw new MigrationError("N2I-E343", `${what}: ${listed(wrong, 5)}`);
}

function isSame(one: RowsDigest | undefined, other: RowsDigest | undefined): boolean {
  return one !== undefined && one.rows === other?.rows && one.sum === other.sum;
}

function fileAt(filename: string): DatabaseAddress {
  return {
    ...{ engine: "sqlite", filename, database: basename(filename), shown: "the restored copy" },
    ...{ host: null, port: null, socket: null, user: null, tls: null, password: () => null },
  };
}

/** Rows of the database that the archive does not have as they are, by name; the first few. */
export async function notArchived(
  run: RunFolder,
  database: Database,
  tables: readonly StoredTable[],
  seal: Seal,
): Promise<readonly string[]> {
  const { footer, lines } = await openArchive(run);
  const now = await sumTables(database, tables, keepSealed(seal));
  const wrong = tables.filter(({ name }) => !isSame(footer.footer.tables[name], now[name]));
  const names: string[] = [];
  for (const table of wrong) names.push(...(await rowsThatDiffer(database, table, seal, lines)));
  return names;
}

async function rowsThatDiffer(
  database: Database,
  table: StoredTable,
  seal: Seal,
  lines: () => AsyncIterable<readonly ArchivedRow[]>,
): Promise<readonly string[]> {
  const nameOf = namer(table);
  const archived = new Map<string, string>();
  for await (const batch of lines())
    for (const line of batch)
      if (line.table === table.name) archived.set(nameOf(line.row), JSON.stringify(line.row));
  const wrong: string[] = [];
  await sumTables(database, [table], keepSealed(seal), (_, row) => {
    const name = nameOf(row);
    const was = archived.get(name);
    archived.delete(name);
    if (was === undefined) wrong.push(`${name} was added`);
    else if (was !== JSON.stringify(row)) wrong.push(`${name} was changed`);
  });
  return [...wrong, ...[...archived.keys()].map((name) => `${name} is gone`)];
}

/** `bm_nodes.id=7`; a row without a key has its position among its like. */
function namer({ name, columns, primary }: StoredTable): (row: readonly Cell[]) => string {
  const key = columns.flatMap((column, at) =>
    primary.includes(column.name) ? [[column.name, at] as const] : [],
  );
  return (row) =>
    key.length === 0
      ? `a row of ${name}`
      : `${name}.${key.map(([column, at]) => `${column}=${String(row[at])}`).join(", ")}`;
}
