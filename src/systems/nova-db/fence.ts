import { MigrationError } from "../../lib/error.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import type { NovaStep, NovaTarget } from "../../model/nova/nova-plan.ts";
import type { Database } from "../database/open.ts";
import { ageOf } from "../database/rows.ts";
import { writing } from "../database/write.ts";
import { observe, rowStateOf } from "./find.ts";
import { onlyChanged } from "./perform.ts";
import { lastReport } from "./services.ts";

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
