import { MigrationError } from "../../model/error.ts";
import type { NovaIdentity, NovaTable, NovaTarget, RowState } from "../../model/nova-plan.ts";
import { schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { checkSequences } from "../database/sequence.ts";
import { lockTarget, writing } from "../database/write.ts";
import { readBeats } from "../nova/services.ts";
import { type ObservedRow, observe, rowStateOf } from "./find.ts";
import { useOf } from "./hosts.ts";
import { performSteps } from "./perform.ts";

/** Called around the commit of every batch; a test kills the process there. */
type Failpoint = (point: "nova.commit.before" | "nova.commit.after") => Promise<void>;

/** Tables whose rows to insert get their ids from the server. */
function numbered(seen: readonly ObservedRow[], states: readonly RowState[]): readonly NovaTable[] {
  return seen.flatMap(({ step: { table, before, after } }, at) =>
    states[at]?.is === "before" && before === null && after !== null && !("id" in after)
      ? [table]
      : [],
  );
}

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
  const { knex } = database;
  return {
    identity,
    lock: () => lockTarget(database),
    async inspect(steps) {
      const seen = await observe(database, knex, steps, false);
      const states = seen.map(rowStateOf);
      await checkSequences(database, knex, numbered(seen, states));
      return states;
    },
    use: (hosts) => useOf(database, knex, hosts),
    beats: (hosts) => readBeats(database, hosts),
    async perform(steps, { owned, precondition, observed }) {
      const performed = await writing(database, async (trx) => {
        const { version, head } = await schemaVersion(database, repository, trx);
        const planned = identity.head ?? identity.schema_version;
        if ((head ?? version) !== planned)
          throw new MigrationError(
            "N2I-E300",
            `${repository}'s schema version is ${head ?? version}, the plan was made for ${planned}`,
          );
        await precondition();
        const performed = await performSteps(database, trx, steps, owned);
        await observed(performed);
        await failpoint("nova.commit.before");
        return performed;
      });
      await failpoint("nova.commit.after");
      return performed;
    },
  };
}
