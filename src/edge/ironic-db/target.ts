import type { TargetIdentity } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import type { Seal } from "../../model/secret.ts";
import type { Release, Target, Verifier } from "../../model/target.ts";
import { lockTarget } from "../database/lock.ts";
import type { Database } from "../database/open.ts";
import { integer, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";
import { writing } from "../database/write.ts";
import { createRows } from "./create.ts";
import { type Ironic, readCurrent } from "./current.ts";
import { judgeRows, type Removed, removeRows } from "./remove.ts";
import { readService } from "./service.ts";
import { untilUnlocked } from "./unlocked.ts";
import { createVerifier } from "./verifier.ts";

/** Called around the commit of every batch; a test kills the process or cuts the line there. */
export type Failpoint = (point: "commit.before" | "commit.after") => Promise<void>;

/** How rows are created, and removed. */
export interface Load {
  /** In maintenance with our reason, for `release` to hand over. */
  readonly staged: boolean;
  /** Milliseconds to wait for conductors that have reserved machines that are to be removed. */
  readonly lockWait: number;
}

/** One secret may be sealed for two places: the snapshot's and the node's. */
export function sameSecret(seal: Seal): SameSecret {
  return (left, right) => left.secret === right.secret || seal.open(left) === seal.open(right);
}

/** The row road: a batch of machines in one transaction of Ironic's own database. */
export function createTarget(
  database: Database,
  release: Release,
  identity: TargetIdentity,
  seal: Seal,
  failpoint: Failpoint = () => Promise.resolve(),
  load: Load = { staged: false, lockWait: 0 },
): Target & { readonly verifier: Verifier } {
  const ironic: Ironic = { database, release, seal };
  const same = sameSecret(seal);
  const { knex, run } = database;
  const patience = { ms: load.lockWait };
  const count = async (table: string): Promise<number> => {
    const rows = await run(`counting ${table}`, () =>
      select(database, knex, `SELECT count(*) AS n FROM ${table}`),
    );
    return integer(rows[0]?.n) ?? 0;
  };
  type Batch = (...told: Parameters<Target["perform"]>) => Promise<Removed>;
  const transact: Batch = async (steps, ours, guard, met) => {
    const performed = await writing(database, async (trx) => {
      const [head] = await run("reading alembic_version", () =>
        select(
          database,
          trx,
          `SELECT ${whole(database.engine, "version_num")} AS version_num FROM alembic_version`,
        ),
      );
      if (text(head?.version_num) !== identity.alembic_head)
        throw new MigrationError(
          "N2I-E300",
          `the alembic head is ${text(head?.version_num)}, the plan was made for ${identity.alembic_head}`,
        );
      await guard();
      const creating = steps.filter(({ before }) => before === null);
      const removing = steps.filter(({ after }) => after === null);
      const made = await createRows(ironic, trx, creating, ours, same, load.staged);
      const gone = removing.length === 0 ? null : await removeRows(ironic, trx, removing, same);
      await met?.(made);
      await failpoint("commit.before");
      return gone ?? { ...made, locked: new Set<string>() };
    });
    await failpoint("commit.after");
    return performed;
  };
  return {
    identity,
    verifier: createVerifier(ironic),
    counts: async () => ({ nodes: await count("nodes"), ports: await count("ports") }),
    service: () => readService(database, release),
    current: (wanted) => readCurrent(ironic, knex, wanted),
    judge: (steps) => judgeRows(ironic, knex, steps, same),
    lock: () => lockTarget(database),
    async perform(steps, ours, guard, met) {
      const performed = await transact(steps, ours, guard, met);
      return untilUnlocked(performed, patience, (locked) =>
        transact(
          steps.filter(({ id }) => locked.has(id)),
          ours,
          guard,
        ),
      );
    },
  };
}
