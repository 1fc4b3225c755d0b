import type { Walked } from "../engine/walk.ts";
import { MigrationError } from "../model/error.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { NovaSide } from "./nova-side.ts";
import type { Sink } from "./sink.ts";

/**
 * Looks at everything before the first write, then changes flavors: a rebuild must find the new
 * images whatever becomes of the load.
 *
 * @param guard the checks of the load itself, so that nothing is changed when it would be refused
 * @returns rows changed now, and rows that somebody else changed meanwhile; null when it was stopped
 */
export async function beforeLoad(
  nova: NovaSide | null,
  guard: () => Promise<void>,
  { told }: Pick<Sink, "told">,
): Promise<{ readonly done: number; readonly left: number } | null> {
  if (nova === null) return { done: 0, left: 0 };
  await guard();
  await nova.check();
  const { done, found, left, stopped } = await nova.flavors();
  told(`Apply to nova, flavors: ${done} rows changed, ${found} so already, ${left.length} left.`);
  for (const { id, why } of left) told(`Left: ${id} ${why}`);
  return stopped ? null : { done, left: left.length };
}

/**
 * Lets Nova's rows name the new hosts, once Ironic has the machines.
 *
 * @returns rows changed now, and rows that somebody else changed meanwhile; null when it was stopped
 */
export async function afterLoad(
  nova: NovaSide | null,
  { excluded, failed }: Pick<Walked<PlannedMachine>, "excluded" | "failed">,
  { told }: Pick<Sink, "told">,
): Promise<{ readonly done: number; readonly left: number } | null> {
  if (nova === null) return { done: 0, left: 0 };
  const out = new Map(
    [...excluded, ...failed].map(({ line, why }) => [line.uuid ?? "", why] as const),
  );
  const { done, found, left, stopped } = await nova.hosts(out);
  told(`Apply to nova, hosts: ${done} rows changed, ${found} so already, ${left.length} left.`);
  for (const { id, why } of left) told(`Left: ${id} ${why}`);
  return stopped ? null : { done, left: left.length };
}

/** A failure in one database after the other was changed says so. */
export function afterNova(cause: unknown, what: string): unknown {
  if (!(cause instanceof MigrationError) || cause.code === "N2I-E301") return cause;
  return new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, { cause });
}
