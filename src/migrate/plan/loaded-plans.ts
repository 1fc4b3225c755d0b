import { hasEnded, ownershipOf, wasBegun } from "../../engine/ownership.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { isLoaded, type Origins, type PlannedMachine } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan, PLAN } from "../../run/run.ts";

type Opened = Awaited<ReturnType<typeof openPlan>>;

/** Plans of which, by the journal, something is in Ironic still, newest first. */
export function plansThere(entries: Entries): readonly string[] {
  return plansOf(entries, IRONIC).filter((sha256) => isThere(entries, sha256));
}

/** Whether something a plan loaded is in Ironic still, by the journal; or of another part what it changed. */
export function isThere(entries: Entries, sha256: string, part = IRONIC): boolean {
  const ownership = ownershipOf(entries, part, sha256);
  return ownership.begun.some((span) => wasBegun(ownership, span));
}

/**
 * The present plan, and the others whose machines may be in Ironic, newest first.
 *
 * @throws MigrationError N2I-E110 when one of them is lost
 */
export async function plansOfRun(
  run: RunFolder,
  present: Opened,
  entries: Entries,
): Promise<readonly RunPlan[]> {
  const plans = [runPlan(present)];
  for (const sha256 of plansThere(entries))
    if (sha256 !== present.footer.sha256)
      plans.push(runPlan(await openPlan(await findPlan(run, sha256))));
  return plans;
}

/** Every machine of every plan. */
export async function* linesOf(
  plans: readonly RunPlan[],
): AsyncGenerator<readonly PlannedMachine[]> {
  for (const { lines } of plans) yield* lines();
}

/**
 * Machines that the present plan creates, and that an earlier one had loaded to their end and no rollback
 * took back: somebody deleted them since. Plans are in the order of bm_nodes.id and read side by side: memory
 * holds a batch of each.
 *
 * @param named how many uuids are wanted
 * @throws MigrationError N2I-E110 when a plan is lost
 */
export async function createdAgain(
  run: RunFolder,
  entries: Entries,
  named: number,
): Promise<{ readonly first: readonly string[]; readonly count: number }> {
  const present = await openPlan(`${run.path}/${PLAN}`);
  const earlier = plansThere(entries)
    .filter((sha256) => sha256 !== present.footer.sha256)
    .map((sha256) => inStep(endedIn(run, entries, sha256)));
  const first: string[] = [];
  let count = 0;
  try {
    for await (const batch of present.lines())
      for (const line of batch) {
        if (line.verdict !== "create" || line.uuid === null) continue;
        let isThere = false;
        for (const { has } of earlier) isThere = (await has(line)) || isThere;
        if (!isThere) continue;
        count += 1;
        if (first.length < named) first.push(line.uuid);
      }
  } finally {
    for (const { end } of earlier) await end();
  }
  return { first, count };
}

/** Machines of a plan that were loaded to their end, in the order of bm_nodes.id. */
async function* endedIn(
  run: RunFolder,
  entries: Entries,
  sha256: string,
): AsyncGenerator<PlannedMachine> {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  const { lines } = await openPlan(await findPlan(run, sha256));
  let to = 0;
  for await (const batch of lines()) {
    const from = to;
    to += batch.length;
    const near = ownership.begun.filter((span) => span.from < to && from < span.to);
    for (const [at, line] of batch.entries()) {
      if (line.uuid === null || !isLoaded(line)) continue;
      const { uuid } = line;
      const isEnded = near.some(
        (span) => span.from <= from + at && from + at < span.to && hasEnded(ownership, span, uuid),
      );
      if (isEnded) yield line;
    }
  }
}

type Named = Pick<PlannedMachine, "bm_node_id" | "uuid">;

/** Looks for machines among others, both in the order of bm_nodes.id: each is read once. */
function inStep(machines: AsyncGenerator<Named>) {
  let next: IteratorResult<Named> | undefined;
  return {
    async has({ bm_node_id, uuid }: Named): Promise<boolean> {
      next ??= await machines.next();
      while (next.done !== true && next.value.bm_node_id < bm_node_id) next = await machines.next();
      return next.done !== true && next.value.bm_node_id === bm_node_id && next.value.uuid === uuid;
    },
    end: () => machines.return(undefined),
  };
}

function runPlan({ header, footer, lines }: Opened): RunPlan {
  return { sha256: footer.sha256, origins: header.origins, lines: () => lines() };
}

/** A plan of a run. */
export interface RunPlan {
  readonly sha256: string;
  readonly origins: Origins;
  readonly lines: () => AsyncIterable<readonly PlannedMachine[]>;
}
