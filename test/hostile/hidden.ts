import { rowsOf } from "../lab/connect.ts";
import type { TestDatabase } from "../lab/index.ts";

/** Takes a user's rights on these tables away; all other tables of the database keep theirs. */
export async function hideTables(
  { engine, db, name }: TestDatabase,
  user = "",
  rights: string,
  hidden: readonly string[],
): Promise<void> {
  if (engine === "postgresql")
    return db.raw(`REVOKE ${rights} ON ${hidden.join(", ")} FROM "${user}"`);
  const account = `'${user}'@'127.0.0.1'`;
  await db.raw(`REVOKE ${rights} ON ${name}.* FROM ${account}`);
  const rows = await rowsOf<object>(db, "SHOW TABLES");
  for (const table of rows.map((row) => String(Object.values(row)[0])))
    if (!hidden.includes(table)) await db.raw(`GRANT ${rights} ON ${name}.${table} TO ${account}`);
}
