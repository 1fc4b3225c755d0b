import { type Judged, judge, overdue, without } from "../core/release/judge.ts";
import { createOutlook, type Log } from "../core/release/outlook.ts";
import type { Planned, Trouble } from "../core/release/planned.ts";
import { isLoaded } from "../core/verify/verify.ts";
import { isDenied, stoppedAfter } from "../engine/midway.ts";
import { MigrationError } from "../model/error.ts";
import { HAND_OVER, type Handover, type HandoverEntry } from "../model/handover.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { regroup } from "../model/streams.ts";

/** What release needs of the world. */
export interface Releasing {
  readonly handover: Handover;
  readonly journal: {
    readonly entries: () => readonly HandoverEntry[];
    readonly append: (entry: HandoverEntry) => Promise<void>;
  };
  readonly clock: {
    /** Milliseconds since the epoch. */
    readonly now: () => number;
    readonly sleep: (milliseconds: number) => Promise<void>;
  };
  readonly by: string;
  /** True once the operator asked to stop: no other machine is released. */
  readonly stopping: () => boolean;
  /** Of conductors. */
  readonly logs: readonly Log[];
  /** Told of machines behind us, and of what concerns all of them. */
  readonly progress: (machines: number, more?: string) => void;
}

export interface Pace {
  /** Machines released and not taken over yet, at most. */
  readonly inFlight: number;
  /** Milliseconds from one release to the next, at least. */
  readonly every: number;
  /** Seconds a conductor may take. */
  readonly deadline: number;
  /** Failures that end it; of those that stood when it began none counts. */
  readonly maxFailures: number;
}

export interface Released {
  /** Released now. */
  released: number;
  /** Taken over, or free for a conductor to work with, those of earlier runs too. */
  done: number;
  held: number;
  /** Released, and not seen taken over when this ended. */
  waiting: number;
  readonly trouble: Trouble[];
  /** Handed over, and a conductor says something of it that is worth a look. */
  readonly noted: Trouble[];
  /** How many of them stood so when this began. */
  before: number;
  /** What became of conductors, and what ails all machines: a sentence each. */
  readonly notices: string[];
  stopped: boolean;
  /** Why it ended after a machine was released: to be thrown once the rest is told. */
  broke: MigrationError | null;
}

const BATCH = 128;
const POLL_MS = 1000;

/** The nodes a plan loads, of the machines that are wanted. */
export async function* plannedNodes(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  wanted: (machine: PlannedMachine) => boolean,
): AsyncGenerator<readonly Planned[]> {
  for await (const batch of regroup(plan, BATCH))
    yield batch
      .filter((machine) => isLoaded(machine) && wanted(machine))
      .flatMap(({ records, bm_node_id, boot }) =>
        records
          .filter(({ resource }) => resource === "node")
          .map(({ row }) => ({
            ...{ uuid: String(row.uuid), bm_node_id, row },
            ...(boot !== undefined && { root: boot.root_uuid }),
          })),
      );
}

/**
 * Clears the maintenance of staged machines in the order of the plan, never more at a time than the
 * pace allows, and watches each until a conductor has it. One that no conductor would take stays
 * staged, and one whose conductors all die is waited for no longer. Safe to run again: the rows tell who was
 * released. It ends at the last machine, on request, or with so many failures; one that failed before is
 * told and ends nothing. Machines that are under way then are watched to their end, unless it was
 * on request.
 *
 * @throws MigrationError when something breaks before the first is released, else as `broke`
 */
export async function release(
  plan: AsyncIterable<readonly Planned[]>,
  releasing: Releasing,
  pace: Pace,
): Promise<Released> {
  const { handover, clock } = releasing;
  const result: Released = {
    ...{
      released: 0,
      done: 0,
      held: 0,
      waiting: 0,
      trouble: [],
      noted: [],
      before: 0,
      notices: [],
      stopped: false,
      broke: null,
    },
  };
  const waiting = new Map<string, Planned & { readonly since: number }>();
  const enough = (): boolean =>
    releasing.stopping() || result.trouble.length - result.before >= pace.maxFailures;
  const outlook = await createOutlook(handover, releasing.logs);
  let behind = 0;
  let begun = false;
  const look = async (): Promise<void> => {
    for (const notice of await outlook.look(waiting)) {
      result.notices.push(notice);
      releasing.progress(behind, notice);
    }
  };
  const ends = (node: Planned, judged: Judged): void => {
    const { uuid, bm_node_id } = node;
    const log = outlook.quoted(uuid);
    const words = { ...judged, uuid, bm_node_id, ...(log.length > 0 && { log }) };
    if (judged.standing === "held") result.held += 1;
    else if (judged.standing !== "done") result.trouble.push(words);
    else {
      result.done += 1;
      if (judged.why !== null) result.noted.push(words);
    }
    behind += 1;
    releasing.progress(behind);
  };
  const watch = async (): Promise<void> => {
    if (waiting.size === 0) return;
    await look();
    const seen = await handover.observe([...waiting.keys()]);
    for (const [uuid, node] of waiting) {
      const judged = judge(node.row, seen.get(uuid), outlook.nobody(node.row));
      const late = clock.now() - node.since >= pace.deadline * 1000;
      const under = judged.standing === "waiting" || judged.standing === "staged";
      const why = under ? outlook.nobody(node.row) : null;
      if (under && !late && why === null) {
        // A conductor had reserved it when it was to be released.
        if (judged.standing === "staged") await handover.clear(uuid);
        continue;
      }
      waiting.delete(uuid);
      if (why !== null) ends(node, without(why, "failed"));
      else ends(node, under ? overdue(node.row, pace.deadline, judged.why) : judged);
    }
  };
  const room = async (): Promise<void> => {
    while (waiting.size >= pace.inFlight && !enough()) {
      await watch();
      if (waiting.size >= pace.inFlight) await clock.sleep(POLL_MS);
    }
  };
  let next = 0;
  const turn = async (): Promise<void> => {
    await room();
    while (clock.now() < next && !enough()) {
      await clock.sleep(Math.min(POLL_MS, next - clock.now()));
      await watch();
    }
    next = clock.now() + pace.every;
  };
  const all = async (): Promise<void> => {
    for await (const batch of plan) if (await enoughAfter(batch)) break;
    while (waiting.size > 0 && !releasing.stopping()) {
      await watch();
      if (waiting.size > 0) await clock.sleep(POLL_MS);
    }
  };
  const enoughAfter = async (batch: readonly Planned[]): Promise<boolean> => {
    const seen = await handover.observe(batch.map(({ uuid }) => uuid));
    for (const node of batch) {
      const judged = judge(node.row, seen.get(node.uuid), outlook.nobody(node.row));
      if (judged.standing === "staged") {
        await turn();
        if (enough()) break;
        if (waiting.size === 0) await look();
        const why = outlook.nobody(node.row);
        if (why === null) {
          begun = true;
          await clear(node, releasing);
          result.released += 1;
          waiting.set(node.uuid, { ...node, since: clock.now() });
        } else ends(node, without(why, "staged"));
      } else if (judged.standing === "waiting")
        waiting.set(node.uuid, { ...node, since: clock.now() });
      else {
        if (judged.standing !== "done" && judged.standing !== "held") result.before += 1;
        ends(node, judged);
      }
      if (enough()) break;
    }
    return enough();
  };
  try {
    await all();
  } catch (cause) {
    const none = isDenied(cause) && result.released === 0;
    if (!begun || none || !(cause instanceof MigrationError)) throw cause;
    result.broke = stoppedAfter("release", `${behind} machines`, cause);
  }
  return { ...result, waiting: waiting.size, stopped: releasing.stopping() };
}

async function clear({ uuid }: Planned, releasing: Releasing): Promise<void> {
  const { handover, journal, clock, by } = releasing;
  await journal.append({ part: HAND_OVER, do: "release", node: uuid, at: iso(clock.now()), by });
  await handover.clear(uuid);
}

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
