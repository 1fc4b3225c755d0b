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

/** What to take back: everything, or the rows of machines. */
export interface NovaScope {
  readonly all: boolean;
  readonly wants: (step: NovaStep) => boolean;
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
 * changed since is left and listed.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function undoNova(
  plan: NovaPlan,
  part: NovaPart,
  { all, wants }: NovaScope,
  acting: NovaActing,
): Promise<NovaDone> {
  const { target, lock, journal } = acting;
  const guard = once(acting.guard);
  const ledger = novaLedger(journal.entries(), plan.sha256);
  const left: { readonly id: string; readonly why: string }[] = [];
  let [done, found] = [0, 0];
  for await (const { stretch, steps } of novaStretches(plan, part)) {
    if (acting.stopping()) return { done, found, left, stopped: true };
    const chosen = steps.filter(wants);
    const undoing = undoNovaSteps(chosen, ledger, stretch);
    if (undoing.length === 0) continue;
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
      left.push(...performed.left);
      await journal.append({
        ...{ do: "undone", ...about, at: acting.now() },
        removed: performed.done.length,
        gone: performed.found.length,
        settled: [...performed.done, ...performed.found].filter((id) => ledger.left.has(id)),
        conflicts: performed.left.map(({ id }) => id),
      });
    } catch (cause) {
      throw halfway("rollback", done, cause);
    }
  }
  return { done, found, left, stopped: false };
}
