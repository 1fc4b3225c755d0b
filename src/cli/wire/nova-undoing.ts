import { type NovaPlan, novaLedger, novaStretches } from "../../core/apply/nova.ts";
import { undoNovaSteps } from "../../core/apply/undo-nova.ts";
import type { NovaEntry, NovaPart, NovaStep, NovaTarget } from "../../model/nova-plan.ts";

/** The steps a rollback of a part is made of, by the journal, batch by batch. */
export async function* undoing(
  plan: NovaPlan,
  entries: readonly NovaEntry[],
  part: NovaPart,
  wants: (step: NovaStep) => boolean,
): AsyncGenerator<readonly NovaStep[]> {
  const ledger = novaLedger(entries, plan.sha256);
  for await (const { stretch, steps } of novaStretches(plan, part))
    yield undoNovaSteps(steps.filter(wants), ledger, stretch);
}

/** Machines that stay as they are, by uuid, and why. */
export type Staying = ReadonlyMap<string, string>;

/**
 * Machines of which a row of Nova is neither as the run left it nor as it was: of these nothing is
 * taken back, as what their instances name and what Ironic has would no longer be one.
 */
export async function changedSince(
  plan: NovaPlan,
  entries: readonly NovaEntry[],
  wants: (step: NovaStep) => boolean,
  target: Pick<NovaTarget, "look">,
): Promise<Staying> {
  const found = new Map<string, string>();
  for await (const steps of undoing(plan, entries, "hosts", wants)) {
    const own = new Map(steps.map((step) => [step.id, step.machine]));
    for (const { id, is, why } of await target.look(steps)) {
      const machine = own.get(id);
      if (is === "other" && machine != null) found.set(machine, `in nova ${id} ${why}`);
    }
  }
  return found;
}
