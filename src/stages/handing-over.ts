import type { PlannedNode, Trouble } from "../core/handover/judge.ts";
import { createConductorHealth, type Log } from "../core/handover/takers.ts";
import { lockTarget } from "../edge/database/lock.ts";
import type { Database } from "../edge/database/open.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { createHandover } from "../edge/ironic-db/handover.ts";
import { identifyTarget } from "../edge/ironic-db/open.ts";
import { type Followed, follow } from "../edge/log/follow.ts";
import {
  type Ending,
  type WindowEnd,
  type WindowSession,
  windowBack,
  windowForward,
} from "../engine/window.ts";
import { ONE_BY_ONE, type Pace } from "../engine/window-part.ts";
import type { PlanHeader } from "../model/artefact.ts";
import type { MigrationError } from "../model/error.ts";
import { HAND_OVER, type Handover } from "../model/handover.ts";
import {
  type HandOverChange,
  type HandOverPosition,
  handOverPart,
  restagePart,
} from "../parts/hand-over.ts";
import type { Mappings } from "./documents.ts";
import { failpoint } from "./failpoint.ts";
import { checkIdentity, checkReasons } from "./ironic-place.ts";
import { withLocked } from "./session.ts";

/** What release needs of the world. */
export interface Releasing extends WindowSession {
  readonly handover: Handover;
  /** Of conductors. */
  readonly logs: readonly Log[];
  /** Told of machines behind us, and of what concerns all of them. */
  readonly progress: (machines: number, more?: string) => void;
}

interface Released {
  /** Released now. */
  readonly released: number;
  /** Taken over, or free for a conductor to work with, those of earlier runs too. */
  readonly done: number;
  readonly held: number;
  /** Released, and not seen taken over when this ended. */
  readonly waiting: number;
  readonly trouble: readonly Trouble[];
  /** Handed over, and a conductor says something of it that is worth a look. */
  readonly noted: readonly Trouble[];
  /** How many of them stood so when this began. */
  readonly before: number;
  /** What became of conductors, and what ails all machines: a sentence each. */
  readonly notices: readonly string[];
  readonly stopped: boolean;
  /** Why it ended after a machine was released: to be thrown once the rest is told. */
  readonly broke: MigrationError | null;
}

/**
 * Hands staged machines over in the order of the plan and watches each until a conductor has it. Safe
 * to run again: the rows tell who was released.
 *
 * @throws MigrationError when something breaks before the first is released, else as `broke`
 */
export async function release(
  plan: AsyncIterable<readonly PlannedNode[]>,
  releasing: Releasing,
  pace: Pace,
): Promise<Released> {
  const tally = tallyOf(releasing.progress);
  const health = await createConductorHealth(releasing.handover, releasing.logs);
  const part = handOverPart(releasing.handover, health, tally.notice, pace.deadline / 1000);
  const leg = { part, command: "handover", changes: () => changesOf(plan), pace };
  return tally.released(await windowForward(leg, releasing, tally.ends));
}

interface Restaged {
  readonly staged: number;
  readonly left: readonly Trouble[];
  readonly stopped: boolean;
  /** As for `Released`. */
  readonly broke: MigrationError | null;
}

/**
 * Takes releases back: the machines this run released are put into our maintenance again. Safe to run
 * again.
 *
 * @throws MigrationError when something breaks before the first is staged, else as `broke`
 * @param lockWait seconds to wait for conductors' locks
 */
export async function restage(
  plan: AsyncIterable<readonly PlannedNode[]>,
  releasing: Releasing,
  lockWait: number,
): Promise<Restaged> {
  const tally = tallyOf(releasing.progress);
  const part = restagePart(releasing.handover);
  const pace = { ...ONE_BY_ONE, lockWait: lockWait * 1000 };
  const leg = { part, command: "handover --undo", changes: () => changesOf(plan), pace };
  return tally.restaged(await windowBack(leg, releasing, tally.ends));
}

async function* changesOf(
  plan: AsyncIterable<readonly PlannedNode[]>,
): AsyncGenerator<readonly HandOverChange[]> {
  for await (const batch of plan) yield batch.map((node) => ({ id: node.uuid, node }));
}

/** Counts machines as they end; keeps only those that somebody has to hear of. */
function tallyOf(progress: Releasing["progress"]) {
  const trouble: Trouble[] = [];
  const noted: Trouble[] = [];
  const notices: string[] = [];
  let [done, held, before, last] = [0, 0, 0, 0];
  return {
    notice(text: string): void {
      notices.push(text);
      progress(last, text);
    },
    ends(ending: Ending<HandOverChange, HandOverPosition>): void {
      const { uuid, bm_node_id } = ending.change.node;
      const { is, judged, log } = ending.position;
      const words = { ...judged, uuid, bm_node_id, ...(log.length > 0 && { log }) };
      if (is !== "after") trouble.push(words);
      else if (judged.standing === "held") held += 1;
      else {
        done += 1;
        if (judged.why !== null) noted.push(words);
      }
      if (is === "other" && ending.found) before += 1;
      last = ending.behind;
      progress(last);
    },
    released: ({ made, underWay, stopped, broke }: WindowEnd): Released => ({
      ...{ released: made, done, held, waiting: underWay, trouble, noted, before, notices },
      ...{ stopped, broke },
    }),
    restaged: ({ made, stopped, broke }: WindowEnd): Restaged => ({
      ...{ staged: made, left: trouble, stopped, broke },
    }),
  };
}

/** A place to die right after each change. */
function committing(handover: Handover): Handover {
  const then = async (point: string, changed: boolean): Promise<boolean> => {
    await failpoint(point);
    return changed;
  };
  return {
    ...handover,
    clear: async (uuid) => then("clear.committed", await handover.clear(uuid)),
    stage: async (uuid) => then("restage.committed", await handover.stage(uuid)),
  };
}

/** The database of a plan's Ironic. */
interface Ironic {
  readonly database: Database;
  readonly header: PlanHeader;
  readonly mappings: Mappings;
}

/** Everything a hand-over needs: the target's lock, its journal, and a stop on Ctrl-C. */
export async function withReleasing<T>(
  run: RunFolder,
  { database, header, mappings }: Ironic,
  /** Of conductors' logs. */
  paths: readonly string[],
  work: (releasing: Omit<Releasing, "progress">) => Promise<T>,
): Promise<T> {
  const { identity, release } = await identifyTarget(database, mappings, header.target.release);
  checkIdentity(header.target, identity);
  checkReasons(release);
  const logs: Followed[] = [];
  try {
    // A log that cannot be read is told before anything of the run is written.
    for (const path of paths) logs.push(await follow(path));
    return await withLocked(run, await lockTarget(database), HAND_OVER, identity, (session) =>
      work({
        ...session,
        handover: committing(createHandover(database, release)),
        logs,
      }),
    );
  } finally {
    for (const log of logs) await log.close();
  }
}
