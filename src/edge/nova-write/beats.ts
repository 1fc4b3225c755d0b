import type { HostBeat } from "../../model/nova-plan.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, select, text, time } from "../database/rows.ts";

/** Seconds since a service's last report, by the database's own clock; Nova writes UTC. */
const AGE: { readonly [engine in Database["engine"]]: (at: string) => string } = {
  mysql: (at) => `TIMESTAMPDIFF(SECOND, ${at}, UTC_TIMESTAMP())`,
  postgresql: (at) => `CAST(EXTRACT(EPOCH FROM (now() AT TIME ZONE 'utc') - ${at}) AS integer)`,
  sqlite: (at) => `CAST(strftime('%s', 'now') - strftime('%s', ${at}) AS integer)`,
};

/** What the nova-compute services of hosts say of themselves now. */
export async function beatsOf(
  database: Database,
  hosts: readonly string[],
): Promise<readonly HostBeat[]> {
  if (hosts.length === 0) return [];
  const { knex, engine, run } = database;
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  const at = seen ? "COALESCE(last_seen_up, updated_at)" : "updated_at";
  const columns = `id, host, report_count, ${seen ? "last_seen_up, " : ""}${AGE[engine](at)} AS age`;
  const rows = await run("reading services", () =>
    select(
      database,
      knex,
      `SELECT ${columns} FROM services WHERE ${knex.ref("binary").toString()} = 'nova-compute' AND deleted = 0 AND host IN (${marks(hosts)}) ORDER BY id`,
      hosts,
    ),
  );
  return rows.map((row) => ({
    id: integer(row.id) ?? 0,
    host: text(row.host) ?? "",
    report_count: integer(row.report_count),
    last_seen_up: time(row.last_seen_up),
    age: integer(row.age),
  }));
}
