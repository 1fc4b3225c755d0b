import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Knex } from "knex";
import { rowsOf as rawRows } from "../lab/connect.ts";
import type { TestDatabase } from "../lab/index.ts";
import type { Deployment } from "./deployment.ts";

/** What the server itself says its tables hold; every row on SQLite. Not the tool's own digest. */
export async function digest({ engine, db }: TestDatabase): Promise<string> {
  if (engine === "sqlite") return rowsOf(db);
  const tables = await tablesOf({ engine, db });
  const sums: string[] = [];
  for (const table of tables) {
    const sum =
      engine === "mysql"
        ? `CHECKSUM TABLE ${table} EXTENDED`
        : `SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS sum FROM ${table} t`;
    sums.push(`${table} ${JSON.stringify(await rawRows(db, sum))}`);
  }
  return sums.join("\n");
}

/** In hex, as the driver dies of a text that is not UTF-8. */
async function rowsOf(db: Knex): Promise<string> {
  const tables: { name: string }[] = await db("sqlite_master")
    .where({ type: "table" })
    .orderBy("name");
  const all: unknown[] = [];
  for (const { name } of tables) {
    const columns = Object.keys(await db(name).columnInfo());
    const asHex = columns.map((column) => `typeof("${column}") || hex("${column}")`).join(",");
    all.push(name, await db.raw(`SELECT ${asHex} FROM "${name}" ORDER BY rowid`));
  }
  return sha256(Buffer.from(JSON.stringify(all)));
}

/** The very files of a deployment on SQLite, and what lies beside them; nothing on servers. */
export function filesOf({ engine, bm, nova, ironic }: Deployment): readonly string[] {
  return engine === "sqlite" ? [bm, nova, ironic].flatMap(({ name }) => treeOf(dirname(name))) : [];
}

async function tablesOf({
  engine,
  db,
}: Pick<TestDatabase, "engine" | "db">): Promise<readonly string[]> {
  const schema = engine === "mysql" ? "DATABASE()" : "'public'";
  // A table that is a view, or of a plug-in, is none of the case's.
  const rows = await rawRows<{ readonly name: string }>(
    db,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ${schema} ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

export async function digests({ bm, nova, ironic }: Deployment): Promise<readonly string[]> {
  return [await digest(bm), await digest(nova), await digest(ironic)];
}

/** Every file below a folder with its digest: what a refused command must leave as it was. */
export function treeOf(folder: string): readonly string[] {
  return (
    readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
      // What a command said and how it ended is written down whatever else it leaves alone.
      .filter(({ name }) => name !== "log.jsonl")
      .map((entry) => ({ entry, path: join(entry.parentPath ?? dirname(folder), entry.name) }))
      .map(({ entry, path }) => (entry.isFile() ? `${path} ${sha256(readFileSync(path))}` : path))
      .sort()
  );
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
