import type { Change } from "../model/change.ts";
import { back, type Scope } from "./back.ts";
import { forward } from "./forward.ts";
import type { Excluded, Leg, Session } from "./part.ts";
import { type Event, gather, type Walked } from "./runner.ts";

/** Direction, rollback scope, and machines to skip. */
type Course<L> =
  | { readonly direction: "forward"; readonly excluded?: Excluded | undefined }
  | {
      readonly direction: "back";
      readonly only: Scope<L>;
      readonly excluded?: Excluded | undefined;
    };

/**
 * Runs legs in order, up to the first that does not complete.
 * @param progress receives the number of completed lines of a leg
 * @throws MigrationError N2I-E301 if it stops midway, unless the result has the error
 */
export function execute<C extends Change, L>(
  legs: readonly Leg<C, L>[],
  session: Session,
  course: Course<L>,
  progress?: (lines: number) => void,
): Promise<Walked<L>> {
  return gather(eventsOf(legs, session, course), progress);
}

async function* eventsOf<C extends Change, L>(
  legs: readonly Leg<C, L>[],
  session: Session,
  course: Course<L>,
): AsyncGenerator<Event<L>> {
  let already = 0;
  for (const leg of legs) {
    const next = { ...leg, already };
    const events =
      course.direction === "forward"
        ? forward(next, session, course.excluded)
        : back(next, session, course.only, course.excluded);
    for await (const event of events) {
      yield event;
      if (event.kind !== "batch") return;
      already += event.outcome.done.length;
    }
  }
}
