import type { Change, SkippedRow } from "../model/change.ts";
import { back, type Scope } from "./back.ts";
import { forward } from "./forward.ts";
import type { Excluded, Leg, Session } from "./part.ts";
import type { BatchResult, SkippedLine, Walked } from "./runner.ts";

/** Direction, rollback scope, and machines to skip. */
type Course<L> = { readonly excluded?: Excluded | undefined } & (
  | { readonly direction: "forward" }
  | { readonly direction: "back"; readonly only: Scope<L> }
);

/**
 * Runs legs in order, up to the first that does not complete.
 * @param progress receives the number of completed lines of a leg
 * @throws MigrationError N2I-E301 if it stops midway, unless the result has the error
 */
export async function execute<C extends Change, L>(
  legs: readonly Leg<C, L>[],
  session: Session,
  course: Course<L>,
  progress: (lines: number) => void = () => undefined,
): Promise<Walked<L>> {
  const counts = { done: 0, found: 0, shared: 0, retained: 0 };
  const skipped: SkippedRow[] = [];
  const excluded: SkippedLine<L>[] = [];
  const failed: SkippedLine<L>[] = [];
  const unchanged = new Map<string, string>();
  const add = (batch: BatchResult<L>): void => {
    const { outcome } = batch;
    counts.done += outcome.done.length;
    counts.found += outcome.found.length;
    counts.shared += batch.shared;
    counts.retained += batch.retained;
    for (const row of outcome.skipped) skipped.push(row);
    excluded.push(...batch.excluded);
    failed.push(...batch.failed);
    for (const [machine, reason] of batch.unchanged) unchanged.set(machine, reason);
    if (outcome.broke === undefined) progress(batch.lines);
  };
  let end = null;
  for (const leg of legs) {
    const next = { ...leg, already: counts.done };
    end = await (course.direction === "forward"
      ? forward(next, session, course.excluded, add)
      : back(next, session, course.only, course.excluded, add));
    if (end !== null) break;
  }
  const lists = { skipped, excluded, failed, unchanged };
  return { ...counts, ...lists, ...(end ?? { stopped: false, broke: null }) };
}
