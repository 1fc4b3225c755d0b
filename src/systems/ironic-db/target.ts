import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../lib/error.ts";
import { groupedBy } from "../../lib/grouped.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import type { Outcome } from "../../model/change.ts";
import type { Target, Verifier } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { alembicHead } from "../database/identity.ts";
import { indexByText, inOrder } from "../database/read.ts";
import { ask, askNumber, countRows, number, type RawRow, string } from "../database/rows.ts";
import { lockTarget } from "../database/target-lock.ts";
import { writing } from "../database/write.ts";
import { GARBLED, isAsPlanned, MARK, UNREADABLE } from "./codec.ts";
import { createRows } from "./create.ts";
import { columnsOf, type Ironic, readCurrent, toNode, toPort, withTraits } from "./current.ts";
import { readService } from "./handover.ts";
import { bulkOf } from "./insert.ts";
import { createJudge, removeRows } from "./remove.ts";

/** Called around the commit of every batch. Tests kill the process or cut the connection there. */
type Failpoint = (point: "commit.before" | "commit.after") => Promise<void>;

const NONE: Outcome = { done: [], found: [], skipped: [] };

interface Load {
  /** In maintenance with our reason, for `release` to hand over. */
  readonly staged: boolean;
  /** Milliseconds to wait for locks of conductors. */
  readonly lockWait: number;
  readonly rest?: (milliseconds: number) => Promise<void>;
}

interface Removed extends Outcome {
  readonly locked: ReadonlySet<string>;
}

/** The database backend: each batch is one transaction in Ironic's database. */
export function createTarget(
  ironic: Ironic,
  identity: TargetIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  load: Load = { staged: false, lockWait: 0 },
): Target & { readonly verifier: Verifier } {
  const { database, release } = ironic;
  const bulk = bulkOf(database);
  // One limit for all batches, because a dead conductor's locks never end.
  const lockBudget = { ms: load.lockWait, rest: load.rest ?? sleep };
  type Batch = (...args: Parameters<Target["perform"]>) => Promise<Removed>;
  const transact: Batch = async (steps, { owned, precondition, making, observed }) => {
    const performed = await writing(database, async (_, inside) => {
      // MySQL's snapshot starts at the first unlocked read, which must follow the row locks.
      // Otherwise rows that others add during the wait are not seen.
      const head = await alembicHead(database.engine === "mysql" ? database : inside);
      if (head !== identity.alembic_head)
        throw new MigrationError(
          "N2I-E300",
          `the alembic head is ${head}, the plan was made for ${identity.alembic_head}`,
        );
      await precondition();
      const creating = steps.filter(({ before }) => before === null);
      const removing = steps.filter(({ after }) => after === null);
      const within: Ironic = { ...ironic, database: inside };
      const where = {
        ...{ ironic: within, inMaintenance: load.staged, bulk },
        ...(making && { making }),
      };
      const made = creating.length === 0 ? NONE : await createRows(where, creating, owned);
      const removed = removing.length === 0 ? null : await removeRows(within, removing);
      await observed(made);
      await failpoint("commit.before");
      return removed ?? { ...made, locked: new Set<string>() };
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
    current: (claims) => readCurrent(ironic, claims),
    judge: createJudge(ironic),
    lock: () => lockTarget(database),
    async perform(steps, hooks) {
      const performed = await transact(steps, hooks);
      return untilUnlocked(performed, lockBudget, (locked) =>
        transact(
          steps.filter(({ id }) => locked.has(id)),
          hooks,
        ),
      );
    },
  };
}

const POLL_MS = 500;

/**
 * Retries removals that locks prevented in new transactions, because an open one would prevent the
 * unlock.
 *
 * @param lockBudget remaining milliseconds, which this reduces
 * @returns with `broke` after an error, because the first transaction is committed
 */
async function untilUnlocked(
  first: Removed,
  lockBudget: { ms: number; readonly rest: (milliseconds: number) => Promise<void> },
  again: (locked: ReadonlySet<string>) => Promise<Removed>,
): Promise<Outcome> {
  let { locked, ...all } = first;
  while (locked.size > 0 && lockBudget.ms > 0) {
    await lockBudget.rest(POLL_MS);
    lockBudget.ms -= POLL_MS;
    const tried = locked;
    try {
      const { locked: remaining, ...more } = await again(tried);
      all = {
        done: [...all.done, ...more.done],
        found: [...all.found, ...more.found],
        skipped: [...all.skipped.filter(({ id }) => !tried.has(id)), ...more.skipped],
      };
      locked = remaining;
    } catch (cause) {
      if (!(cause instanceof MigrationError)) throw cause;
      return { ...all, broke: { cause, completed: 0 } };
    }
  }
  return all;
}

/** Reads nodes and ports independently of the loader, its counters and the journal. */
function createVerifier(ironic: Ironic): Verifier {
  const { database, release, seal } = ironic;
  const portsOf = portsReader(ironic);
  return {
    async rows(nodeUuids, planned) {
      const unreadable = new Map<string, string>();
      const read = (resource: Resource, raw: RawRow, owner: string | null): Row => {
        const uuid = string(raw.uuid);
        const expected = planned(uuid);
        if (expected !== undefined && isAsPlanned(raw, expected, release[resource], seal, owner))
          return expected;
        const row = owner === null ? toNode(ironic, raw) : toPort(ironic, raw, owner);
        for (const column in row)
          if ((row[column] === UNREADABLE || row[column] === GARBLED) && !unreadable.has(uuid))
            unreadable.set(uuid, `${column} is ${String(row[column]).slice(1, -1)}`);
        return row;
      };
      const sql = `SELECT ${everything(ironic, "node", "n")} FROM {nodes.uuid n} WHERE uuid IN (...)`;
      const found = await ask(database, "verifying nodes", sql, nodeUuids);
      const rows = await withTraits(ironic, found);
      const owners = new Map(rows.map(({ id, uuid }) => [number(id), string(uuid)]));
      const nodes = new Map(
        rows.map((raw) => [string(raw.uuid), read("node", raw, null)] as const),
      );
      const ownerOf = ({ node_id }: RawRow): string => owners.get(number(node_id)) ?? "";
      const portRows = await portsOf([...owners.keys()]);
      const ports = groupedBy(portRows, ownerOf, (raw) => read("port", raw, ownerOf(raw)));
      return { nodes, ports, unreadable };
    },
    async marked() {
      const sql = "SELECT count(*) AS n FROM nodes WHERE extra LIKE ?";
      return (await askNumber(database, "counting", sql, [MARK])) ?? 0;
    },
    async *markedUuids() {
      const marked = inOrder(database, { uuid: string }, "nodes", "extra LIKE ?", [MARK]);
      for await (const page of marked) yield page.map(({ uuid }) => uuid);
    },
  };
}

/** SQLite needs column names to read text as bytes. */
function everything(ironic: Ironic, table: "node" | "port", prefix: string): string {
  return ironic.database.engine === "sqlite" ? columnsOf(ironic, table, prefix) : "*";
}

/** Only MySQL indexes the foreign key. Elsewhere each batch would scan all ports. */
function portsReader(ironic: Ironic): (nodes: readonly number[]) => Promise<readonly RawRow[]> {
  const { database } = ironic;
  const { engine } = database;
  let index: ReturnType<typeof indexByText> | undefined;
  return async (nodes) => {
    if (nodes.length === 0) return [];
    if (engine !== "mysql")
      index ??= indexByText(database, "ports", "node_id", "node_id IS NOT NULL");
    const ids = (await index)?.(nodes.map(String)) ?? nodes;
    const column = index === undefined ? "node_id" : "id";
    const sql = `SELECT ${everything(ironic, "port", "p")} FROM {ports.${column} p} WHERE ${column} IN (...) ORDER BY id`;
    return ask(database, "verifying ports", sql, ids);
  };
}
