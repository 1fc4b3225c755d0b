import {
  type Ending,
  type WindowEnd,
  type WindowSession,
  windowBack,
  windowForward,
} from "../../engine/window.ts";
import { ONE_BY_ONE, type WindowLeg } from "../../engine/window-part.ts";
import { checkEngine, checkIdentity } from "../../migrate/apply/ironic-target.ts";
import type { Backend, Guarding } from "../../migrate/open/backend.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { Guard, Trouble } from "../../model/handover.ts";
import { failpoint } from "../../run/failpoint.ts";
import type { GuardedNode } from "../handover/rules/guards.ts";
import { isTakenOver } from "../handover/rules/judge.ts";
import {
  clearedFields,
  finishPart,
  type GuardChange,
  type GuardPosition,
  unfinishPart,
} from "./finish-part.ts";

/** The guard of a plan's target. @throws MigrationError N2I-E300 for another target */
export async function openGuard(backend: Backend, { target }: PlanHeader): Promise<Guarding> {
  checkEngine(target, backend);
  const found = await backend.guard(target.release);
  checkIdentity(target, found.identity);
  return found;
}

export interface Finishing extends WindowSession {
  readonly guard: Guard;
  /** Seconds to wait for conductors' locks, in total. */
  readonly lockWait: number;
  readonly inFlight: number;
  readonly progress: (machines: number) => void;
}

/** A failure in `broke` is thrown after the report. */
export interface Finished extends Pick<WindowEnd, "stopped" | "broke"> {
  readonly changed: number;
  /** Machines that need no change. */
  readonly fine: number;
  /** Of those, machines that the plan has in maintenance, which keep a guard. */
  readonly held: number;
  /** Machines in use that no conductor has taken over. */
  readonly untaken: number;
  /** Nodes of the run that are not in Ironic. */
  readonly gone: readonly string[];
  readonly left: readonly Trouble[];
}

/**
 * Removes the protection that machines have until Nova manages them, or with `undo` restores what
 * this run removed. Safe to repeat.
 * @throws MigrationError if it fails before the first change. Later ones are in `broke`
 */
export async function finish(
  plan: AsyncIterable<readonly GuardedNode[]>,
  finishing: Finishing,
  undo = false,
): Promise<Finished> {
  const { guard, inFlight, lockWait } = finishing;
  const tally = tallyOf(finishing.progress);
  const leg: WindowLeg<GuardChange, GuardPosition> = {
    part: undo ? unfinishPart(guard) : finishPart(guard),
    command: undo ? "finish --undo" : "finish",
    changes: (ours) => changesOf(plan, undo ? clearedFields(ours) : new Map()),
    pace: { ...ONE_BY_ONE, together: inFlight, inFlight, lockWait: lockWait * 1000 },
  };
  const perform = undo ? windowBack : windowForward;
  return tally.finished(await perform(leg, finishing, tally.ends));
}

async function* changesOf(
  plan: AsyncIterable<readonly GuardedNode[]>,
  cleared: ReturnType<typeof clearedFields>,
): AsyncGenerator<readonly GuardChange[]> {
  for await (const batch of plan)
    yield batch.map((node) => {
      const { uuid } = node;
      return { id: uuid, node, cleared: cleared.get(uuid) ?? new Set() };
    });
}

/** Counts finished machines, and keeps only those to report. */
function tallyOf(progress: Finishing["progress"]) {
  const left: Trouble[] = [];
  const gone: string[] = [];
  let [changed, fine, held, untaken] = [0, 0, 0, 0];
  return {
    ends({ change, position, made, behind }: Ending<GuardChange, GuardPosition>): void {
      const { uuid, bm_node_id } = change.node;
      const { is, seen, trouble } = position;
      if (seen?.taken === false && isTakenOver(change.node)) untaken += 1;
      if (trouble !== null) left.push({ ...trouble, uuid, bm_node_id });
      else if (is === "other") gone.push(uuid);
      else if (made) changed += 1;
      else if (seen !== undefined) fine += 1;
      if (is === "after" && position.held) held += 1;
      progress(behind);
    },
    finished: ({ stopped, broke }: WindowEnd): Finished => ({
      ...{ changed, fine, held, untaken, gone, left, stopped, broke },
    }),
  };
}

/** Failpoints before and after each change. */
export function committing(guard: Guard): Guard {
  return {
    ...guard,
    async write(uuid, seen, change) {
      await failpoint("write.before");
      const written = await guard.write(uuid, seen, change);
      await failpoint("write.after");
      return written;
    },
  };
}
