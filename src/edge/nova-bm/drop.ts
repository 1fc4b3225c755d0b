import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { defining } from "../database/write.ts";

/** Drops a table; one that is gone already is none too many. */
export async function dropTable(database: Database, name: string): Promise<void> {
  const sql = `DROP TABLE IF EXISTS ${quoted(database.engine, name)}`;
  await defining(database, `dropping ${name}`, sql);
}
