import { createRequire } from "node:module";
import { translate } from "../database/errors.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { countRows } from "../database/rows.ts";
import { countOn, fill } from "../nova-bm/restore.ts";
import { readRows, rowsSum } from "../nova-bm/stored-rows.ts";
import { copiedTables, definitionsOf } from "./definitions.ts";
import { isNotMark } from "./mark.ts";
import { literal, outside } from "./outside.ts";

/**
 * Fills an empty database with the tables and rows of another one of its kind: rows of one moment, which nobody
 * is kept from changing meanwhile.
 *
 * @param only these tables; of a file all are
 * @param progress hears how many rows are behind us
 * @returns false when it was stopped on request
 */
export async function copyTables(
  source: Database,
  copy: Database,
  only: readonly string[] | undefined,
  signal: AbortSignal,
  progress: (rows: number) => void,
): Promise<boolean> {
  if (source.engine === "sqlite") {
    copyFile(source, copy.address.filename ?? "");
    return true;
  }
  const tables = await copiedTables(source, only);
  const names = tables.map(({ name }) => name);
  const definitions = await definitionsOf(source, names);
  const reading = await readTransaction(source);
  let rows = 0;
  try {
    await outside(copy, async (on) => {
      const perform = (doing: string, sql: string): Promise<unknown> =>
        copy.run(doing, () => on.raw(literal(copy, sql)));
      const checks = async (are: 0 | 1): Promise<void> => {
        // Nodes and allocations refer to each other.
        if (copy.engine === "mysql")
          await perform("making tables", `SET SESSION foreign_key_checks=${are}`);
      };
      await checks(0);
      for (const sql of definitions.before) await perform("making tables", sql);
      for (const table of tables)
        for await (const page of readRows(source, reading, table)) {
          if (signal.aborted) return;
          const batch = page.map((row) => ({ table: table.name, row }));
          await perform("copying rows", "START TRANSACTION");
          await fill(copy, on, { batch, named: new Map([[table.name, table]]), opened: sealed });
          await perform("copying rows", "COMMIT");
          rows += page.length;
          progress(rows);
        }
      for (const sql of definitions.after) await perform("making keys", sql);
      await checks(1);
    });
  } finally {
    await reading.rollback().catch(() => null);
  }
  if (copy.engine === "postgresql")
    for (const { name, columns } of tables)
      for (const column of columns)
        if (column.name === "id" && !signal.aborted) await countOn(copy, name, column.name);
  return !signal.aborted;
}

/** Rows of a copy, its mark not counted. */
export async function countAll(copy: Database): Promise<number> {
  let rows = 0;
  for (const { name } of await copiedTables(copy))
    if (isNotMark(name)) rows += await countRows(copy, quoted(copy.engine, name));
  return rows;
}

/** Nothing of a database is sealed. */
function sealed(): never {
  throw new Error("a row of a database holds a sealed secret");
}

/** The whole file as of one moment, whoever writes to it; by a connection that cannot write to it itself. */
function copyFile({ address, shown }: Database, to: string): void {
  const Libsql = createRequire(import.meta.url)("libsql") as new (
    file: string,
    options: { readonly readonly: boolean },
  ) => {
    prepare: (sql: string) => { run: (...values: readonly string[]) => unknown };
    close: () => void;
  };
  try {
    const from = new Libsql(address.filename ?? "", { readonly: true });
    try {
      from.prepare("VACUUM INTO ?").run(to);
    } finally {
      from.close();
    }
  } catch (error) {
    throw translate(error, "copying the file", shown);
  }
}

/** A digest of every row, whatever their order: whether two looks found the same. */
export async function digestOfAll(copy: Database): Promise<string> {
  const reading = await readTransaction(copy);
  try {
    const sums: string[] = [];
    for (const table of await copiedTables(copy)) {
      if (!isNotMark(table.name)) continue;
      const sum = rowsSum(table.columns, { plain: false });
      for await (const page of readRows(copy, reading, table)) for (const row of page) sum.add(row);
      const { rows, sum: digest } = sum.result();
      sums.push(`${table.name} ${rows} ${digest}`);
    }
    return sums.join("\n");
  } finally {
    await reading.rollback().catch(() => null);
  }
}
