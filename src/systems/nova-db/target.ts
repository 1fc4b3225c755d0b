import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import type { Outcome } from "../../model/change.ts";
import type {
  HeldSteps,
  NovaIdentity,
  NovaTable,
  NovaTarget,
  RowState,
} from "../../model/nova/nova-plan.ts";
import { alembicHead, schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { checkSequences } from "../database/sequence.ts";
import { lockTarget, writing } from "../database/write.ts";
import { type ObservedRow, observe, rowStateOf } from "./find.ts";
import { useOf } from "./hosts.ts";
import { performSteps } from "./perform.ts";
import { openBeats } from "./services.ts";
import { swap } from "./swap.ts";

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
  let asksBeats: ReturnType<typeof openBeats> | undefined;
  /** Which tables there are is asked for where an upgrade may have brought alembic since. */
  const versionNow = async (trx: Knex): Promise<string | number | null> => {
    if (identity.head !== undefined) return alembicHead(database, trx);
    const { version, head } = await schemaVersion(database, repository, trx);
    return head ?? version;
  };
  const inTransaction = async (
    work: (trx: Knex.Transaction) => Promise<readonly [Outcome, Hooked]>,
  ): Promise<Outcome> => {
    const performed = await writing(database, async (trx) => {
      const now = await versionNow(trx);
      const planned = identity.head ?? identity.schema_version;
      if (now !== planned)
        throw new MigrationError(
          "N2I-E300",
          `${repository}'s schema version is ${now}, the plan was made for ${planned}`,
        );
      const [performed, { observed }] = await work(trx);
      await observed(performed);
      await failpoint("nova.commit.before");
      return performed;
    });
    await failpoint("nova.commit.after");
    return performed;
  };
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
    async beats(hosts) {
      asksBeats ??= openBeats(database);
      return (await asksBeats)(hosts);
    },
    perform: (steps, hooks) =>
      inTransaction(async (trx) => {
        await hooks.precondition();
        return [await performSteps(database, trx, steps, hooks.owned), hooks];
      }),
    hold: (steps) =>
      new Promise((resolve, reject) => {
        const kept = inTransaction(async (trx) => {
          if (!(await swap(database, trx, steps))) throw new Dropped();
          const hooks = await new Promise<Hooked | null>((decide) => {
            const keep: HeldSteps["keep"] = (hooks) => {
              decide(hooks);
              return kept;
            };
            const drop = async (): Promise<void> => {
              decide(null);
              await kept.catch(() => undefined); // nothing of it was kept
            };
            resolve({ keep, drop });
          });
          if (hooks === null) throw new Dropped();
          await hooks.precondition();
          return [{ done: steps.map(({ id }) => id), found: [], left: [] }, hooks];
        });
        // What comes later is the word of who decides.
        kept.catch((cause: unknown) => (cause instanceof Dropped ? resolve(null) : reject(cause)));
      }),
  };
}

type Hooked = Parameters<NovaTarget["perform"]>[1];

/** What was written is rolled back, and that is no failure. */
class Dropped extends Error {}
