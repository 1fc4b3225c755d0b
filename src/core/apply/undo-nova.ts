import { invertNova, type NovaPart, type NovaStep } from "../../model/nova-plan.ts";
import { once } from "./apply.ts";
import type { Ledger, Stretch } from "./ledger.ts";
import {
  halfway,
  isNovaOurs,
  type NovaActing,
  type NovaDone,
  type NovaPlan,
  novaLedger,
  novaStretches,
} from "./nova.ts";
import { waiting } from "./shared-rows.ts";

/** What to take back: everything, or the rows of machines. */
export interface NovaScope {
  readonly all: boolean;
  readonly wants: (step: NovaStep) => boolean;
}

export interface NovaUndone extends NovaDone {
  /** Rows of ours that machines share, and that a rollback of some machines does not touch. */
  readonly shared: number;
}

/** The steps that take a stretch back: those that were ours and are not taken back, last one first. */
export function undoNovaSteps(
  steps: readonly NovaStep[],
  ledger: Ledger,
  stretch: Stretch,
): readonly NovaStep[] {
  return steps
    .filter((step) => isNovaOurs(ledger, stretch, step))
    .toReversed()
    .map(invertNova);
}

/**
 * Takes back what was changed of a part, whatever became of Ironic's rows. A row that somebody
 * changed since is left and listed, and so is one that instances which stay need.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function undoNova(
  plan: NovaPlan,
  part: NovaPart,
  { all, wants }: NovaScope,
  acting: NovaActing,
): Promise<NovaUndone> {
  const { target, lock, journal } = acting;
  const guard = once(acting.guard);
  const ledger = novaLedger(journal.entries(), plan.sha256);
  const left: { readonly id: string; readonly why: string }[] = [];
  let [done, found, shared] = [0, 0, 0];
  for await (const { stretch, steps } of novaStretches(plan, part)) {
    if (acting.stopping()) return { done, found, left, stopped: true, shared };
    const chosen = steps.filter(wants);
    const ours = undoNovaSteps(chosen, ledger, stretch);
    shared += undoNovaSteps(
      steps.filter((step) => step.machine === null && !wants(step)),
      ledger,
      stretch,
    ).length;
    if (ours.length === 0) continue;
    const waits = await waiting(ours, "back", target.use);
    const undoing = ours.filter(({ id }) => !waits.has(id));
    try {
      await lock.check();
      const about = { plan: plan.sha256, ...stretch };
      const nodes = all ? "all" : [...new Set(chosen.map(({ machine }) => machine ?? ""))];
      await journal.append({ do: "undo", ...about, nodes, at: acting.now(), by: acting.by });
      const performed = await target.perform(
        undoing,
        () => true,
        guard,
        () => Promise.resolve(),
      );
      done += performed.done.length;
      found += performed.found.length;
      const staying = [...performed.left, ...[...waits].map(([id, why]) => ({ id, why }))];
      left.push(...staying);
      await journal.append({
        ...{ do: "undone", ...about, at: acting.now() },
        removed: performed.done.length,
        gone: performed.found.length,
        settled: [...performed.done, ...performed.found].filter((id) => ledger.left.has(id)),
        conflicts: staying.map(({ id }) => id),
      });
    } catch (cause) {
      throw halfway("rollback", done, cause);
    }
  }
  return { done, found, left, stopped: false, shared };
}
