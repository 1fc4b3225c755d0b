import { MigrationError, orNull } from "../../lib/error.ts";
import type { Outcome } from "../../model/change.ts";
import type { NovaIdentity, NovaStep, NovaTarget } from "../../model/nova/nova-plan.ts";
import { alembicHead, schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { checkSequences } from "../database/statement.ts";
import { lockTarget } from "../database/target-lock.ts";
import { writing } from "../database/write.ts";
import { useOf } from "./by-node.ts";
import { observe, rowStateOf } from "./find.ts";
import { performSteps } from "./perform.ts";
import { openServices } from "./services.ts";

/** Called around the commit of every batch. Tests kill the process there. */
type Failpoint = (point: "nova.commit.before" | "nova.commit.after") => Promise<void>;

/** @param repository its row of migrate_version, before Xena */
export function createNovaTarget(
  database: Database,
  identity: NovaIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  repository: "nova" | "nova_api" = "nova",
): NovaTarget {
  let beats: ReturnType<typeof openServices> | undefined;
  /** Looks for alembic's table, because an upgrade may have added it. */
  const versionNow = async (inside: Database): Promise<string | number | null> => {
    if (identity.head !== undefined) return alembicHead(inside);
    const { version, head } = await schemaVersion(inside, repository);
    return head ?? version;
  };
  const inTransaction = async (
    work: (inside: Database) => Promise<readonly [Outcome, Hooked]>,
  ): Promise<Outcome> => {
    const performed = await writing(database, async (_, inside) => {
      const now = await versionNow(inside);
      const planned = identity.head ?? identity.schema_version;
      if (now !== planned)
        throw new MigrationError(
          "N2I-E300",
          `${repository}'s schema version is ${now}, the plan was made for ${planned}`,
        );
      const [performed, { observed }] = await work(inside);
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
    inspect: (steps) => inspect(database, steps),
    use: (hosts) => useOf(database, hosts),
    async beats(hosts) {
      beats ??= openServices(database);
      return (await beats)(hosts);
    },
    perform: (steps, hooks) =>
      inTransaction(async (inside) => {
        await hooks.precondition();
        return [await performSteps(inside, steps, hooks.owned), hooks];
      }),
    writeUncommitted: (steps) =>
      new Promise((resolve, reject) => {
        const ended = inTransaction(async (inside) => {
          const writing = performSteps(inside, steps, () => true);
          const written = await orNull(writing, "N2I-E300");
          if (written?.done.length !== steps.length) throw new Dropped();
          const hooks = await new Promise<Hooked | null>((decide) => {
            resolve({
              keep(hooks) {
                decide(hooks);
                return ended;
              },
              async drop() {
                decide(null);
                await ended.catch(() => undefined); // nothing was committed
              },
            });
          });
          if (hooks === null) throw new Dropped();
          await hooks.precondition();
          return [written, hooks];
        });
        // After this, the caller decides.
        ended.catch((cause: unknown) => (cause instanceof Dropped ? resolve(null) : reject(cause)));
      }),
  };
}

async function inspect(database: Database, steps: readonly NovaStep[]) {
  const observed = await observe(database, steps, false);
  const states = observed.map(rowStateOf);
  // Tables in which the server assigns ids to new rows.
  const numbered = observed.flatMap(({ step: { table, before, after } }, at) =>
    states[at]?.is === "before" && before === null && after !== null && !("id" in after)
      ? [table]
      : [],
  );
  await checkSequences(database, numbered);
  return states;
}

type Hooked = Parameters<NovaTarget["perform"]>[1];

/** Rolls back without an error. */
class Dropped extends Error {}
