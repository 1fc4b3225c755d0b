import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import type { ServerEngine } from "../lab/binaries.ts";
import { rowsOf } from "../lab/connect.ts";

const LIST: { readonly [engine in ServerEngine]: string } = {
  mysql: "SELECT id FROM information_schema.processlist WHERE user = ?",
  postgresql: "SELECT pid AS id FROM pg_stat_activity WHERE usename = ?",
};

export function connectionsOf(
  engine: ServerEngine,
  user: string,
  sql: <T>(work: (db: Knex) => Promise<T>) => Promise<T>,
) {
  const list = (db: Knex) => rowsOf<{ readonly id: number }>(db, LIST[engine], [user]);
  return {
    gone: () =>
      sql(async (db) => {
        while ((await list(db)).length > 0) await sleep(20);
      }),
    /** @returns how many they were */
    kill: () =>
      sql(async (db) => {
        const all = await list(db);
        for (const { id } of all)
          await db.raw(engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`);
        return all.length;
      }),
  };
}
