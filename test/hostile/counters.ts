import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { rowsOf } from "../lab/connect.ts";
import type { Deployment } from "./deployment.ts";

/**
 * Counters the servers keep of what was written, of these users and databases alone, as other
 * tests share the servers: MariaDB's statistics of users, PostgreSQL's of tables. Nothing on SQLite.
 */
export async function countersOf(made: Deployment): Promise<() => Promise<readonly string[]>> {
  if (made.engine === "sqlite") return () => Promise.resolve([]);
  if (made.engine === "mysql") {
    await made.bm.db.raw("SET GLOBAL userstat = 1");
    return () => mysqlCounters(made);
  }
  // A connection tells its figures when it ends: those that built the case end here.
  for (const { db } of [made.bm, made.nova, made.ironic]) {
    await db.destroy();
    db.initialize();
  }
  return () => settled(() => postgresCounters(made));
}

async function mysqlCounters({ bm, users }: Deployment): Promise<readonly string[]> {
  const names = Object.values(users);
  const marks = names.map(() => "?").join(",");
  const rows = await rowsOf<{ user: string; changed: unknown; commands: unknown }>(
    bm.db,
    `SELECT user, rows_inserted + rows_updated + rows_deleted AS changed, update_commands AS commands FROM information_schema.user_statistics WHERE user IN (${marks}) ORDER BY user`,
    names,
  );
  return rows
    .map(({ user, changed, commands }) => `${user} ${String(changed)} ${String(commands)}`)
    .filter((line) => !line.endsWith(" 0 0"));
}

async function postgresCounters({ bm, nova, ironic }: Deployment): Promise<readonly string[]> {
  const sums: string[] = [];
  for (const { db, name } of [bm, nova, ironic]) {
    const rows = await rowsOf(
      db,
      "SELECT sum(n_tup_ins) AS i, sum(n_tup_upd) AS u, sum(n_tup_del) AS d FROM pg_stat_user_tables",
    );
    sums.push(`${name} ${JSON.stringify(rows)}`);
  }
  return sums;
}

/** A reading that stands still: a backend tells its last figures just after its client has gone. */
async function settled(read: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (let last = await read(); ; ) {
    await sleep(150);
    const now = await read();
    if (isDeepStrictEqual(now, last)) return now;
    last = now;
  }
}
