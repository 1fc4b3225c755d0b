import type { TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { Target, Verifier } from "../../model/target.ts";
import { lockTarget } from "../database/lock.ts";
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
type Failpoint = (point: "commit.before" | "commit.after") => Promise<void>;

/** How rows are created, and removed. */
export interface Load {
  /** In maintenance with our reason, for `release` to hand over. */
  readonly staged: boolean;
  /** Milliseconds to wait for conductors that have reserved machines that are to be removed. */
  readonly lockWait: number;
}

/** The database backend: a batch of machines in one transaction of Ironic's own database. */
export function createTarget(
  ironic: Ironic,
  identity: TargetIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  load: Load = { staged: false, lockWait: 0 },
): Target & { readonly verifier: Verifier } {
  const { database, release } = ironic;
  const { knex, run } = database;
  const patience = { ms: load.lockWait };
  const count = async (table: string): Promise<number> => {
    const rows = await run(`counting ${table}`, () =>
      select(database, knex, `SELECT count(*) AS n FROM ${table}`),
    );
    return integer(rows[0]?.n) ?? 0;
  };
  type Batch = (...told: Parameters<Target["perform"]>) => Promise<Removed>;
  const transact: Batch = async (steps, { owned, precondition, observed }) => {
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
      await precondition();
      const creating = steps.filter(({ before }) => before === null);
      const removing = steps.filter(({ after }) => after === null);
      const made = await createRows(ironic, trx, creating, owned, load.staged);
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
    counts: async () => ({ nodes: await count("nodes"), ports: await count("ports") }),
    service: () => readService(database, release),
    current: (wanted) => readCurrent(ironic, knex, wanted),
    judge: (steps) => judgeRows(ironic, knex, steps),
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
