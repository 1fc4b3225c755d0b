import { MigrationError, orNull } from "../../lib/error.ts";
import type { Json } from "../../lib/json.ts";
import type { Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/database.ts";
import type { Row } from "../../model/machine.ts";
import type {
  NovaIdentity,
  NovaStep,
  NovaTable,
  NovaTarget,
  UncommittedSteps,
} from "../../model/nova/nova-plan.ts";
import { alembicHead, schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { keyed } from "../database/read.ts";
import { marks } from "../database/rows.ts";
import { checkSequences } from "../database/sequence.ts";
import { changedBy } from "../database/statement.ts";
import { lockTarget } from "../database/target-lock.ts";
import { writing } from "../database/write.ts";
import { observe, rowStateOf } from "./find.ts";
import { useOf } from "./hosts.ts";
import { performSteps } from "./perform.ts";
import { openBeats } from "./services.ts";

/** Called around the commit of every batch. Tests kill the process there. */
type Failpoint = (point: "nova.commit.before" | "nova.commit.after") => Promise<void>;

/** @param repository its row of migrate_version, before Xena */
export function createNovaTarget(
  database: Database,
  identity: NovaIdentity,
  failpoint: Failpoint = () => Promise.resolve(),
  repository: "nova" | "nova_api" = "nova",
): NovaTarget {
  let beats: ReturnType<typeof openBeats> | undefined;
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
    async inspect(steps) {
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
    },
    use: (hosts) => useOf(database, hosts),
    async beats(hosts) {
      beats ??= openBeats(database);
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
          if (!(await swap(inside, steps))) throw new Dropped();
          const hooks = await new Promise<Hooked | null>((decide) => {
            const keep: UncommittedSteps["keep"] = (hooks) => {
              decide(hooks);
              return ended;
            };
            const drop = async (): Promise<void> => {
              decide(null);
              await ended.catch(() => undefined); // nothing was committed
            };
            resolve({ keep, drop });
          });
          if (hooks === null) throw new Dropped();
          await hooks.precondition();
          return [{ done: steps.map(({ id }) => id), found: [], skipped: [] }, hooks];
        });
        // After this, the caller decides.
        ended.catch((cause: unknown) => (cause instanceof Dropped ? resolve(null) : reject(cause)));
      }),
  };
}

type Hooked = Parameters<NovaTarget["perform"]>[1];

/** Rolls back without an error. */
class Dropped extends Error {}

interface Swap {
  readonly table: NovaTable;
  /** Equal columns of all rows. An unchanged column has equal values. */
  readonly cells: readonly Cell[];
  /** Unchanged name columns that differ between rows. */
  readonly names: readonly string[];
  readonly rows: { readonly id: number; readonly names: readonly Json[] }[];
}

interface Cell {
  readonly column: string;
  readonly was: Json;
  readonly is: Json;
}

/** Number of different changes. Beyond it, shared statements do not pay off. */
const VARIANTS = 16;

function swapsOf(steps: readonly NovaStep[]): readonly Swap[] | null {
  const swaps: Swap[] = [];
  for (const { table, key, before, after } of steps) {
    if (before === null || after === null || typeof key.id !== "number") return null;
    let existing = swaps.find((swap) => swap.table === table && isAlike(before, after, swap));
    if (existing === undefined) {
      const cells = cellsOf(before, after);
      if (cells === null || swaps.length === VARIANTS) return null;
      existing = { table, ...cells, rows: [] };
      swaps.push(existing);
    }
    existing.rows.push({ id: key.id, names: existing.names.map((name) => before[name] ?? null) });
  }
  return swaps;
}

function isAlike(
  before: Row,
  after: Row,
  { cells, names }: Pick<Swap, "cells" | "names">,
): boolean {
  const columns = cells.length + names.length;
  return (
    cells.every(({ column, was, is }) => before[column] === was && after[column] === is) &&
    names.every((name) => typeof before[name] === "string" && before[name] === after[name]) &&
    Object.keys(before).length === columns &&
    Object.keys(after).length === columns
  );
}

function cellsOf(before: Row, after: Row): Pick<Swap, "cells" | "names"> | null {
  const cells: Cell[] = [];
  const names: string[] = [];
  for (const [column, is] of Object.entries(after)) {
    const was = before[column];
    if (was === undefined) return null;
    if (was === is && typeof is === "string") names.push(column);
    else cells.push({ column, was, is });
  }
  const isComplete = cells.length + names.length === Object.keys(before).length;
  return isComplete && cells.some(({ was, is }) => was !== is) ? { cells, names } : null;
}

/** MySQL compares text by collation and would choose slower indexes, hence the casts. */
function asBefore(engine: Engine, { cells, names, rows }: Swap) {
  const isMysql = engine === "mysql";
  const ids = rows.map(({ id }) => id);
  const text = (column: string) => (isMysql ? `CAST(${column} AS BINARY)` : column);
  const number = (column: string) => (isMysql ? `${column} + 0` : column);
  const were = cells.map(({ column, was }) => {
    if (was === null) return `${column} IS NULL`;
    return `${(typeof was === "string" ? text : number)(column)} = ?`;
  });
  const marked = marks(names);
  const all = ids.map((id) => `(${id},${marked})`).join();
  // SQLite needs VALUES.
  const pairs = engine === "sqlite" ? `VALUES ${all}` : all;
  const columns = [number("id"), ...names.map(text)].join();
  const tupleConditions = names.length === 0 ? [] : [`(${columns}) IN (${pairs})`];
  return {
    sql: [amongst(ids), ...were, ...tupleConditions].join(" AND "),
    values: [
      ...cells.flatMap(({ was }) => (was === null ? [] : [was])),
      ...rows.flatMap(({ names }) => names),
    ],
  };
}

/**
 * Literals, because bindings cost more than the rows. MariaDB needs 20 % less time for a range,
 * which also locks at most the next row until the commit.
 */
function amongst(ids: readonly number[]): string {
  const sorted = ids.toSorted((one, other) => one - other);
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  const isComplete = last - first === ids.length - 1 && sorted.every((id, at) => id === first + at);
  return isComplete ? `id BETWEEN ${first} AND ${last}` : `id IN (${ids.join()})`;
}

/** @param database in a transaction; roll it back unless the result is true */
async function swap(database: Database, steps: readonly NovaStep[]): Promise<boolean> {
  const { engine, run } = database;
  for (const one of swapsOf(steps) ?? [null]) {
    if (one === null) return false;
    const { table, cells, rows } = one;
    const to = cells.filter(({ was, is }) => was !== is);
    const { sql, values } = asBefore(engine, one);
    const set = to.map(({ column }) => `${column} = ?`).join();
    const from = await keyed(database, table, "id");
    const changing = run(`writing ${table}`, () =>
      changedBy(database, `UPDATE ${from} SET ${set} WHERE ${sql}`, [
        ...to.map(({ is }) => is),
        ...values,
      ]),
    );
    // Another session has the unique value.
    if ((await orNull(changing, "N2I-E300")) !== rows.length) return false;
  }
  return true;
}
