import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import type { ServerEngine } from "../lab/binaries.ts";

const LIST: { readonly [engine in ServerEngine]: string } = {
  mysql: "SELECT id FROM information_schema.processlist WHERE user = ?",
  postgresql: "SELECT pid AS id FROM pg_stat_activity WHERE usename = ?",
};

export function connectionsOf(
  engine: ServerEngine,
  user: string,
  sql: <T>(work: (db: Knex) => Promise<T>) => Promise<T>,
) {
  const list = async (db: Knex): Promise<readonly number[]> => {
    const answer: unknown = await db.raw(LIST[engine], [user]);
    // knex gives the rows first on MySQL and as `rows` on PostgreSQL.
    const rows = (Array.isArray(answer) ? answer[0] : (answer as { rows: unknown }).rows) as {
      id: number;
    }[];
    return rows.map(({ id }) => Number(id));
  };
  return {
    gone: () =>
      sql(async (db) => {
        while ((await list(db)).length > 0) await sleep(20);
      }),
    kill: () =>
      sql(async (db) => {
        for (const id of await list(db))
          await db.raw(engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`);
      }),
  };
}
