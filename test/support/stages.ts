import { join } from "node:path";
import { withActing } from "../../src/cli/wire/acting.ts";
import { databaseRoad } from "../../src/cli/wire/road.ts";
import { type Acting, type Applied, apply } from "../../src/core/apply/apply.ts";
import { type Undone, undo } from "../../src/core/apply/undo.ts";
import { emptyTally, type Tally, verify } from "../../src/core/verify/verify.ts";
import { sameSecret } from "../../src/edge/ironic-db/target.ts";
import type { RowVerdict } from "../../src/model/artefact.ts";
import { mappings, planOf, seal, targetOf, type Workplace } from "./planned-case.ts";

type Place = Pick<Workplace, "run" | "ironic">;

/** Loads the run's plan as `apply` does: under the target's lock, told in the journal. */
export function applied(at: Place): Promise<Applied> {
  return acting(at, { check: true }, async (plan, how) =>
    apply(plan.lines(), plan.footer.sha256, how),
  );
}

/** Takes back everything the run loaded, as `rollback --all` does. */
export function rolledBack(at: Place): Promise<Undone> {
  return acting(at, { check: false }, async (plan, how) =>
    undo(plan.lines(), plan.footer.sha256, { all: true, wants: () => true }, how),
  );
}

/** Every row's verdict, those as planned included, and the totals. */
export async function verified(
  at: Place,
): Promise<{ readonly tally: Tally; readonly verdicts: readonly RowVerdict[] }> {
  const plan = await planOf(at);
  const { target } = await targetOf(at.ironic, plan.header.target.release);
  const tally = emptyTally();
  const verdicts: RowVerdict[] = [];
  for await (const verdict of verify(plan.lines, target.verifier, sameSecret(seal), tally, {
    all: true,
  }))
    verdicts.push(verdict);
  return { tally, verdicts };
}

async function acting<T>(
  at: Place,
  source: { readonly check: boolean },
  work: (plan: Awaited<ReturnType<typeof planOf>>, how: Acting) => Promise<T>,
): Promise<T> {
  const plan = await planOf(at);
  return withActing(at.run, databaseRoad(at.ironic, mappings), plan.header, seal, source, (how) =>
    work(plan, { ...how, progress: () => {} }),
  );
}

/** Where a run's artefact is. */
export function artefact({ run }: Pick<Workplace, "run">, name: "snapshot" | "plan"): string {
  return join(run.path, `${name}.jsonl`);
}
