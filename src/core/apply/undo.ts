import type { MigrationError } from "../../model/error.ts";
import { invert, type PlannedMachine, type Step, stepsOf } from "../../model/plan.ts";
import { type Acting, batchOf, once, stretches } from "./apply.ts";
import { halted, midway } from "./halt.ts";
import { isOurs, type Ledger, ledgerOf, type Stretch } from "./ledger.ts";

export interface Undone {
  readonly removed: number;
  /** Rows that were gone already. */
  readonly gone: number;
  readonly left: readonly { readonly id: string; readonly why: string }[];
  readonly stopped: boolean;
  /** As for `Applied`. */
  readonly broke: MigrationError | null;
}

/**
 * The steps that take one machine back: those the journal says were begun, were ours and were not
 * taken back since, ports before their node, before and after exchanged. A row that stands where
 * ours was taken away is another run's.
 */
export function undoSteps(
  machine: PlannedMachine,
  ledger: Ledger,
  stretch: Stretch,
): readonly Step[] {
  return stepsOf(machine)
    .filter(({ id }) => isOurs(ledger, stretch, machine.uuid ?? "", id))
    .toReversed()
    .map(invert);
}

/** What to take back: everything, or the machines that are named. */
export interface Scope {
  readonly all: boolean;
  readonly wants: (machine: PlannedMachine) => boolean;
}

/**
 * Takes back what was applied of a plan, within a scope. A row that is no longer as loaded is left
 * and listed. Safe to run again: what is gone is gone.
 *
 * @throws MigrationError N2I-E301 when it stops midway, but where `broke` has it
 */
export async function undo(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  sha256: string,
  { all, wants }: Scope,
  acting: Acting,
): Promise<Undone> {
  const { target, lock, journal } = acting;
  /** What the guard looks at was as it should be: from here on something may be taken away. */
  let writing = false;
  const guard = once(async () => {
    await acting.guard();
    writing = true;
  });
  const left: { readonly id: string; readonly why: string }[] = [];
  // What is appended from here on speaks of stretches behind us.
  const ledger = ledgerOf(journal.entries(), sha256);
  let [removed, gone, machines] = [0, 0, 0];
  for await (const { from, to, machines: batch } of stretches(plan, batchOf(target.identity))) {
    if (acting.stopping()) return { removed, gone, left, stopped: true, broke: null };
    const chosen = batch.filter(wants);
    const steps = chosen.flatMap((machine) => undoSteps(machine, ledger, { from, to }));
    if (steps.length > 0) {
      try {
        await lock.check();
        const nodes = all ? "all" : chosen.map(({ uuid }) => uuid ?? "");
        await journal.append({
          do: "undo",
          plan: sha256,
          from,
          to,
          nodes,
          at: acting.now(),
          by: acting.by,
        });
        const performed = await target.perform(steps, () => true, guard);
        // From here on something is gone, whatever becomes of the journal.
        removed += performed.done.length;
        gone += performed.found.length;
        left.push(...performed.left);
        if (performed.broke !== undefined) {
          const { cause, behind } = performed.broke;
          const broke = halted("rollback", machines + behind, cause);
          return { removed, gone, left, stopped: false, broke };
        }
        await journal.append({
          do: "undone",
          plan: sha256,
          from,
          to,
          at: acting.now(),
          removed: performed.done.length,
          gone: performed.found.length,
          settled: [...performed.done, ...performed.found].filter((id) => ledger.left.has(id)),
          conflicts: performed.left.map(({ id }) => id),
        });
      } catch (cause) {
        if (!writing) throw cause;
        throw midway("rollback", machines, removed > 0, cause);
      }
    }
    machines += batch.length;
    acting.progress(machines);
  }
  return { removed, gone, left, stopped: false, broke: null };
}
