import type { TestContext } from "node:test";
import type { Knex } from "knex";
import { connect, rowsOf } from "../connect.ts";
import type { TestDatabase } from "../index.ts";

const VERSIONS: ReadonlySet<string> = new Set(["alembic_version", "migrate_version"]);

/**
 * Puts the rows of a database of our own tables into one whose tables a real service made, in place of what is there.
 * A column the service has not is an error.
 * @param name of the database, on the same server
 */
export async function settleIn(t: Pick<TestContext, "after">, from: TestDatabase, name: string) {
  const { server } = from;
  if (server === null) throw new Error("a real service's tables are on a server");
  const db = connect({ ...server, database: name });
  t.after(() => db.destroy());
  const tables = await rowsOf<{ readonly [title: string]: string }>(from.db, "SHOW TABLES");
  const names = tables.flatMap((row) => Object.values(row)).filter((one) => !VERSIONS.has(one));
  await db.transaction(async (trx: Knex) => {
    await trx.raw("SET FOREIGN_KEY_CHECKS = 0");
    for (const table of names) {
      await trx(table).delete();
      const rows: readonly object[] = await from.db(table);
      if (rows.length > 0) await trx(table).insert(rows);
    }
    await trx.raw("SET FOREIGN_KEY_CHECKS = 1");
  });
  return { ...from, name, url: server.url(name), db };
}
