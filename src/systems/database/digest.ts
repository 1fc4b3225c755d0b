import { createHash } from "node:crypto";
import { columnNames, tableNames } from "./identity.ts";
import { type Database, readTransaction } from "./open.ts";
import { ask, quoted, text } from "./rows.ts";

/** Equal if and only if the rows are equal, in any order. @param only ignores missing tables */
export async function digestOfRows(database: Database, only?: readonly string[]): Promise<string> {
  const existing = [...(await tableNames(database))].filter((name) => only?.includes(name) ?? true);
  const sums: string[] = [];
  for (const name of existing.toSorted()) sums.push(`${name} ${await digestOf(database, name)}`);
  return sums.join("\n");
}

async function digestOf(database: Database, table: string): Promise<string> {
  if (database.engine === "sqlite") return digestInSqlite(database, table);
  const name = quoted(database.engine, table);
  const statement =
    database.engine === "mysql"
      ? `CHECKSUM TABLE ${name} EXTENDED`
      : `SELECT count(*) AS n, sum(('x' || substr(md5(t::text), 1, 16))::bit(64)::bigint)::text AS s FROM ${name} t`;
  const [row] = await ask(database, `reading ${table}`, statement);
  return Object.values(row ?? {})
    .map(text)
    .join(" ");
}

const PAGE = 1000;

async function digestInSqlite(database: Database, table: string): Promise<string> {
  const columns = (await columnNames(database, table)).map((name) => quoted("sqlite", name));
  const row = columns.map((name) => `quote(${name})`).join(" || ',' || ");
  const from = quoted("sqlite", table);
  const reading = await readTransaction(database);
  let [rows, sum] = [0, 0n];
  try {
    for (let after = "0"; ; ) {
      const statement = `SELECT rowid AS at, ${row} AS cells FROM ${from} WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE}`;
      const page = await ask(reading, `reading ${table}`, statement, [after]);
      for (const { cells } of page) {
        const digest = createHash("sha256").update(text(cells) ?? "");
        sum += BigInt(`0x${digest.digest("hex")}`);
      }
      rows += page.length;
      if (page.length < PAGE) return `${rows} ${sum.toString(16)}`;
      after = text(page.at(-1)?.at) ?? "";
    }
  } finally {
    await reading.close().catch(() => null);
  }
}
