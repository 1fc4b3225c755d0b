import { MigrationError } from "../../lib/error.ts";
import { grouped } from "../../lib/grouped.ts";
import type { Json } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { Outcome } from "../../model/change.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import type { Row } from "../../model/machine.ts";
import {
  type NovaStep,
  type NovaTable,
  type NovaTarget,
  refuseForeign,
} from "../../model/nova/nova-plan.ts";
import type { Database } from "../database/open.ts";
import { ageOf, keyed } from "../database/rows.ts";
import { orSequenceTooLow } from "../database/statement.ts";
import { writing } from "../database/write.ts";
import { type ObservedRow, observe, rowStateOf } from "./find.ts";
import { lastReport } from "./services.ts";

/**
 * Locks and compares every row, then writes it with a statement that compares the old values.
 *
 * @throws MigrationError N2I-E300
 */
export async function performSteps(
  database: Database,
  steps: readonly NovaStep[],
  owned: (id: string) => boolean,
): Promise<Outcome> {
  const found: string[] = [];
  const skipped: { readonly id: string; readonly reason: string }[] = [];
  const todo: ObservedRow[] = [];
  for (const observed of await observe(database, steps, true)) {
    const state = rowStateOf(observed);
    if (state.is === "after") found.push(observed.step.id);
    else if (state.is === "before") todo.push(observed);
    else skipped.push({ id: observed.step.id, reason: state.reason });
  }
  refuseForeign(skipped, owned, "rows of nova");
  for (const change of changesOf(todo.map(({ step }) => step))) await write(database, change);
  return { done: todo.map(({ step }) => step.id), found, skipped };
}

interface Change {
  readonly table: NovaTable;
  readonly from: Row | null;
  readonly to: Row | null;
  /** Whether `deleted` is the row's id, before and after. */
  readonly usesId: { readonly from: boolean; readonly to: boolean };
  /** Ids, or another key of one row. */
  readonly keys: readonly Row[];
  readonly added: readonly Row[];
}

/** Changes with the same name share a statement. */
function changesOf(steps: readonly NovaStep[]): readonly Change[] {
  return [...grouped(steps.map(changeOf), ({ name }) => name).values()].flatMap((same) =>
    same
      .slice(0, 1)
      .map((first) => ({
        ...first,
        keys: same.flatMap(({ keys }) => keys),
        added: same.flatMap(({ added }) => added),
      })),
  );
}

function changeOf({ table, key, before, after }: NovaStep): Change & { readonly name: string } {
  const alike = { table, usesId: { from: false, to: false }, keys: [], added: [] };
  if (before === null && after !== null) {
    const name = JSON.stringify([table, "insert", ...Object.keys(after)]);
    return { ...alike, name, from: null, to: after, added: [after] };
  }
  if (after === null && typeof before?.id === "number") {
    // Locked and compared in this transaction.
    const name = JSON.stringify([table, "delete"]);
    return { ...alike, name, from: {}, to: null, keys: [{ id: before.id }] };
  }
  const many = typeof key.id === "number" && before !== null && after !== null;
  const [was, is] = many ? [onlyChanged(before, after), onlyChanged(after, before)] : [];
  const usesId = { from: hasId(was, key.id), to: hasId(is, key.id) };
  const from = was && usesId.from ? withoutDeleted(was) : (was ?? before);
  const to = is && usesId.to ? withoutDeleted(is) : (is ?? after);
  const name = JSON.stringify([table, from, to, usesId, many ? null : key]);
  return { name, table, from, to, usesId, keys: [key], added: [] };
}

/** Nova stores the row's own id in `deleted`. Such rows can still share a statement. */
function hasId(row: Row | undefined, id: Json | undefined): boolean {
  return row !== undefined && id !== 0 && row.deleted === id;
}

function withoutDeleted({ deleted: _, ...row }: Row): Row {
  return row;
}

function onlyChanged(row: Row, other: Row): Row {
  return Object.fromEntries(
    Object.entries(row).filter(([column, value]) => other[column] !== value),
  );
}

async function write(database: Database, { table, from, to, usesId, keys, added }: Change) {
  const { knex } = database;
  // DELETE accepts no index hint.
  const hinted = to === null ? table : knex.raw(await keyed(database, `{${table}.id}`));
  // Keeps SQLite from using the host's index instead of 500 ids.
  const compared = database.engine === "sqlite" ? "+??" : "??";
  await database.run(`writing ${table}`, async () => {
    if (from === null) {
      await knex(table).insert(added.map(cells)).catch(orSequenceTooLow(table));
      return;
    }
    const ids = keys.flatMap(({ id }) => (typeof id === "number" ? [id] : []));
    const query =
      ids.length > 0 ? knex(hinted).whereIn("id", ids) : knex(table).where(cells(keys[0] ?? {}));
    for (const [column, value] of Object.entries(cells(from)))
      if (value === null) query.whereRaw(`${compared} IS NULL`, [column]);
      else query.whereRaw(`${compared} = ?`, [column, value]);
    if (usesId.from) query.where("deleted", knex.ref("id"));
    const id = usesId.to ? { deleted: knex.ref("id") } : {};
    const changed: number = await (to === null
      ? query.delete()
      : query.update({ ...cells(to), ...id }));
    if (changed !== keys.length)
      throw new MigrationError(
        "N2I-E300",
        `${table}: ${counted(changed, "row")} changed instead of ${keys.length}`,
      );
  });
}

/** Steps contain only plain values. */
function cells(row: Row): { readonly [column: string]: Exclude<Json, object> } {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (typeof value === "object" && value !== null)
        throw new Error(`${column} is no plain value`);
      return [column, value];
    }),
  );
}

/** The last heartbeat of a host to fence. */
interface DeadHost {
  readonly id: number;
  readonly report_count: number;
  /** Seconds without a heartbeat that count as dead. */
  readonly down: number;
}

/**
 * Each statement compares the service's row, so a heartbeat in the meantime prevents the fence.
 *
 * @param dead by id of the service
 * @throws MigrationError N2I-E316 if a host is alive
 * @source facts/systems.md A4 rule (a); facts/systems-measured.md A2+
 */
export async function performFence(
  database: Database,
  steps: readonly NovaStep[],
  dead: (id: number) => DeadHost | undefined,
  { precondition, observed }: Parameters<NovaTarget["perform"]>[1],
  failpoint: (point: "fence.commit.before" | "fence.commit.after") => Promise<void> = () =>
    Promise.resolve(),
): ReturnType<NovaTarget["perform"]> {
  const reported = await lastReport(database);
  const fenced = await writing(database, async (trx, inside) => {
    await precondition();
    const states = (await observe(inside, steps, false)).map(rowStateOf);
    const found = states.flatMap(({ id, is }) => (is === "after" ? [id] : []));
    const todo = steps.filter(({ id }) => !found.includes(id));
    for (const { id, key, before, after, of } of todo) {
      const host = dead(Number(key.id));
      if (host === undefined || before === null || after === null)
        throw new Error(`${id} is no step of a fence`);
      await database.run("fencing a host", async () => {
        const query = trx("services").where({ id: host.id, report_count: host.report_count });
        for (const [column, value] of Object.entries(before))
          if (value === null) query.whereNull(column);
          else query.where(column, value as string | number | boolean);
        // Ages are rounded down. A heartbeat far in the future means a wrong clock, as in isUp.
        const [age, down] = [ageOf(database.engine, reported), Math.ceil(host.down)];
        const changed: number = await query
          .whereRaw(`(${age} > ? OR ${age} <= ?)`, [down, -Math.max(down, HEARTBEAT)])
          .update(onlyChanged(after, before));
        if (changed !== 1)
          throw new MigrationError(
            "N2I-E316",
            `${of} reported or was changed since it was read: nothing was fenced`,
          );
      });
    }
    const performed = { done: todo.map(({ id }) => id), found, skipped: [] };
    await observed(performed);
    await failpoint("fence.commit.before");
    return performed;
  });
  await failpoint("fence.commit.after");
  return fenced;
}
