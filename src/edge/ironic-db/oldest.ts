import type { Database } from "../database/open.ts";
import { select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

/** Uuids of nodes that are there, lower case, the oldest first. */
export async function oldestNodes(database: Database, most: number): Promise<readonly string[]> {
  const uuid = whole(database.engine, "uuid");
  const rows = await database.run("listing nodes", () =>
    select(
      database,
      database.knex,
      `SELECT ${uuid} AS uuid FROM nodes ORDER BY id LIMIT ${Math.floor(most)}`,
    ),
  );
  return rows.map((row) => (text(row.uuid) ?? "").toLowerCase());
}
