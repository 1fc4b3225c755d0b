import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../lib/error.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import type { Outcome } from "../../model/change.ts";
import type { Target, Verifier } from "../../model/ironic/target.ts";
import { countRows } from "../database/rows.ts";
import { lockTarget, writing } from "../database/write.ts";
import { bulkOf } from "./bulk.ts";
import { createRows } from "./create.ts";
import { type Ironic, readCurrent } from "./current.ts";
import { headOf } from "./open.ts";
import { createJudge, type Removed, removeRows } from "./remove.ts";
import { readService } from "./service.ts";
import { createVerifier } from "./verifier.ts";

/** Called around the commit of every batch; a test kills the process or cuts the line there. */
type Failpoint = (point: "commit.before" | "commit.after") => Promise<void>;

const NONE: Outcome = { done: [], found: [], left: [] };

/** How rows are created, and removed. */
interface Load {
  /** In maintenance with our reason, for `release` to hand over. */
  readonly staged: boolean;
  /** Milliseconds to wait for conductors that have reserved machines that are to be removed. */
  readonly lockWait: number;
  /** Waits so many milliseconds; absent: by the system's clock. */
  readonly rest?: (milliseconds: number) => Promise<void>;
}

/** The database backend: a batch of machines in one transaction of Ironic's own database. */
export function createTarget(
  ironic: Ironic,
  identity: TargetIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  load: Load = { staged: false, lockWait: 0 },
): Target & { readonly verifier: Verifier } {
  const { database, release } = ironic;
  const { knex } = database;
  const bulk = bulkOf(database);
  // That of a dead conductor uses it up once, not once a batch.
  const patience = { ms: load.lockWait, rest: load.rest ?? sleep };
  type Batch = (...given: Parameters<Target["perform"]>) => Promise<Removed>;
  const transact: Batch = async (steps, { owned, precondition, making, observed }) => {
    const performed = await writing(database, async (trx) => {
      // On MySQL the first read without a lock is the moment that all later ones see: it must not come before the
      // rows are locked, or what others add to a machine while we wait for it is not seen.
      const head = await headOf(database, database.engine === "mysql" ? knex : trx);
      if (head !== identity.alembic_head)
        throw new MigrationError(
          "N2I-E300",
          `the alembic head is ${head}, the plan was made for ${identity.alembic_head}`,
        );
      await precondition();
      const creating = steps.filter(({ before }) => before === null);
      const removing = steps.filter(({ after }) => after === null);
      const where = { ironic, trx, inMaintenance: load.staged, bulk, ...(making && { making }) };
      const made = creating.length === 0 ? NONE : await createRows(where, creating, owned);
      const gone = removing.length === 0 ? null : await removeRows(ironic, trx, removing);
      await observed(made);
      await failpoint("commit.before");
      return gone ?? { ...made, locked: new Set<string>() };
    });
    await failpoint("commit.after");
    return performed;
  };
  return {
    identity,
    verifier: createVerifier(ironic),
    counts: async () => ({
      nodes: await countRows(database, "nodes"),
      ports: await countRows(database, "ports"),
    }),
    service: () => readService(database, release),
    current: (wanted) => readCurrent(ironic, knex, wanted),
    judge: createJudge(ironic),
    lock: () => lockTarget(database),
    async perform(steps, hooks) {
      const performed = await transact(steps, hooks);
      return untilUnlocked(performed, patience, (locked) =>
        transact(
          steps.filter(({ id }) => locked.has(id)),
          hooks,
        ),
      );
    },
  };
}

const LOOK_MS = 500;

/**
 * Tries what conductors' locks kept from being removed again, in transactions of its own: a lock
 * that is held over a transaction of ours could not be let go.
 *
 * @param patience milliseconds left to wait, all in all; less afterwards
 * @param again removes the steps that are locked
 * @returns with `broke` when it came to an end amid of it: what the first transaction did is kept
 */
async function untilUnlocked(
  first: Removed,
  patience: { ms: number; readonly rest: (milliseconds: number) => Promise<void> },
  again: (locked: ReadonlySet<string>) => Promise<Removed>,
): Promise<Outcome> {
  let { locked, ...all } = first;
  while (locked.size > 0 && patience.ms > 0) {
    await patience.rest(LOOK_MS);
    patience.ms -= LOOK_MS;
    const tried = locked;
    try {
      const { locked: still, ...more } = await again(tried);
      all = {
        done: [...all.done, ...more.done],
        found: [...all.found, ...more.found],
        left: [...all.left.filter(({ id }) => !tried.has(id)), ...more.left],
      };
      locked = still;
    } catch (cause) {
      if (!(cause instanceof MigrationError)) throw cause;
      return { ...all, broke: { cause, behind: 0 } };
    }
  }
  return all;
}
