import { MigrationError } from "../../model/error.ts";
import type { NovaIdentity, NovaTarget } from "../../model/nova-plan.ts";
import { lockTarget } from "../database/lock.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, select, text, time } from "../database/rows.ts";
import { schemaVersion } from "../database/schema-version.ts";
import { writing } from "../database/write.ts";
import { meet, standingOf } from "./find.ts";
import { performSteps } from "./perform.ts";
import { useOf } from "./use.ts";

/** Called around the commit of every batch; a test kills the process there. */
export type Failpoint = (point: "nova.commit.before" | "nova.commit.after") => Promise<void>;

/** Seconds since a service's last report, by the database's own clock; Nova writes UTC. */
const AGE: { readonly [engine in Database["engine"]]: string } = {
  mysql: "TIMESTAMPDIFF(SECOND, updated_at, UTC_TIMESTAMP())",
  postgresql: "CAST(EXTRACT(EPOCH FROM (now() AT TIME ZONE 'utc') - updated_at) AS integer)",
  sqlite: "CAST(strftime('%s', 'now') - strftime('%s', updated_at) AS integer)",
};

/**
 * A nova database, changed row by row in transactions of its own.
 *
 * @param repository whose row of migrate_version tells its version, before Xena
 */
export function createNovaTarget(
  database: Database,
  identity: NovaIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  repository: "nova" | "nova_api" = "nova",
): NovaTarget {
  const { knex, run, engine } = database;
  return {
    identity,
    lock: () => lockTarget(database),
    look: async (steps) => (await meet(database, knex, steps, false)).map(standingOf),
    use: (hosts) => useOf(database, knex, hosts),
    async beats(hosts) {
      if (hosts.length === 0) return [];
      const rows = await run("reading services", () =>
        select(
          database,
          knex,
          `SELECT id, host, report_count, updated_at, ${AGE[engine]} AS age FROM services WHERE ${knex.ref("binary").toString()} = 'nova-compute' AND deleted = 0 AND host IN (${marks(hosts)}) ORDER BY id`,
          hosts,
        ),
      );
      return rows.map((row) => ({
        id: integer(row.id) ?? 0,
        host: text(row.host) ?? "",
        report_count: integer(row.report_count),
        updated_at: time(row.updated_at),
        age: integer(row.age),
      }));
    },
    async perform(steps, ours, guard, met) {
      const performed = await writing(database, async (trx) => {
        const { version, head } = await schemaVersion(database, repository, trx);
        const planned = identity.head ?? identity.schema_version;
        if ((head ?? version) !== planned)
          throw new MigrationError(
            "N2I-E300",
            `${repository}'s schema version is ${head ?? version}, the plan was made for ${planned}`,
          );
        await guard();
        const performed = await performSteps(database, trx, steps, ours);
        await met(performed);
        await failpoint("nova.commit.before");
        return performed;
      });
      await failpoint("nova.commit.after");
      return performed;
    },
  };
}
