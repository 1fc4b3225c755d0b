import { MigrationError } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { regroup } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import type { MachineEntry } from "../model/journal.ts";
import { isDenied, stoppedAfter } from "./midway.ts";
import type { Clock, Direction, Session } from "./part.ts";
import { type StartedChange, startedChangesIn } from "./started.ts";
import type { Position, WindowLeg, WindowPart } from "./window-part.ts";

/** A machine that completed, or that is no longer waited for. */
export interface Ending<C, P> {
  readonly change: C;
  readonly position: P;
  /** Changed now. */
  readonly made: boolean;
  /** In this state at its first inspection. */
  readonly found: boolean;
  /** Completed machines. */
  readonly completed: number;
}

export interface WindowEnd {
  /** Changed now, including machines in progress. */
  readonly made: number;
  /** On request, with machines left. */
  readonly stopped: boolean;
  /** Started machines without a known end. */
  readonly inProgress: number;
  /** Error after a machine was started. Thrown after the report. */
  readonly broke: MigrationError | null;
}

export type WindowSession = Session & { readonly clock: Clock };

/**
 * Changes machines in order within the pace, and watches them until they end. Back: reverts started
 * changes in the given order, and skips and lists changed machines. Waiting machines are retried
 * after all others. Safe to repeat, because each machine is inspected first. Ends after the last
 * machine, too many failures, or on request. Except on request, machines in progress are watched to
 * their end.
 * @param ends called when a machine ends
 * @throws MigrationError before the first start, or if the first change is denied; later errors are
 *   `broke`
 */
export async function runWindow<C extends { readonly id: string }, P extends Position>(
  direction: Direction,
  leg: WindowLeg<C, P>,
  session: WindowSession,
  ends: (ending: Ending<C, P>) => void,
): Promise<WindowEnd> {
  const started = startedChangesIn(session.journal.entries(), leg.part.name);
  const changes = async function* (): AsyncGenerator<readonly C[]> {
    for await (const some of leg.changes(started))
      yield direction === "back" ? some.filter(({ id }) => started.has(id)) : some;
  };
  const acts = actsOf(leg.part, session, direction, started);
  const { go, retry, giveUp, flight, completed, waiting } = windowOf(leg, session, acts, ends);
  let broke: MigrationError | null = null;
  let cut = false;
  const asksToStop = (): boolean => cut && session.stopping();
  try {
    for await (const batch of regroup(changes(), leg.part.size)) {
      cut = !(await go(batch));
      if (cut) break;
    }
    await flight.drain();
    if (!asksToStop()) await retry();
  } catch (cause) {
    const none = isDenied(cause) && acts.made() === 0 && waiting() === 0;
    if (!acts.hasStarted() || none || !(cause instanceof MigrationError)) throw cause;
    broke = stoppedAfter(leg.command, `${counted(completed(), "machine")}`, cause);
  }
  const inProgress = flight.size();
  const stopped = session.stopping() && (cut || waiting() > 0 || inProgress > 0);
  if (!asksToStop()) giveUp();
  return { made: acts.made(), stopped, inProgress, broke };
}

function windowOf<C extends { readonly id: string }, P extends Position>(
  leg: WindowLeg<C, P>,
  session: WindowSession,
  acts: Acts<C, P>,
  ends: (ending: Ending<C, P>) => void,
) {
  const { part, pace } = leg;
  const { clock, stopping } = session;
  let waiting: (readonly [change: C, last: P])[] = [];
  let [completed, failures] = [0, 0];
  const enough = (): boolean => stopping() || failures >= pace.maxFailures;
  const flight = flightOf(leg, session, acts, (change, position) => end(change, position, false));

  async function end(change: C, position: P, found: boolean): Promise<void> {
    const made = await acts.ended(change, position);
    if (position.is === "other" && !found) failures += 1;
    completed += 1;
    ends({ change, position, made, found, completed });
  }
  async function arrive(change: C, position: P, found: boolean): Promise<void> {
    if (position.is === "partway") flight.add(change);
    else if (position.is === "waiting") waiting.push([change, position]);
    else await end(change, position, found);
  }
  /** @returns whether it was started, or did not need a start */
  async function one(change: C, position: P | undefined, stops: () => boolean): Promise<boolean> {
    if (position === undefined) throw new Error(`${part.name} has no state of ${change.id}`);
    if (position.is === "before" && !(await flight.room(stops))) return false;
    const found = position.is !== "before";
    await arrive(change, found ? position : await acts.perform(change, position), found);
    return true;
  }
  async function go(changes: readonly C[], stops: () => boolean): Promise<boolean> {
    if (stops()) return false;
    const positions = await part.inspect(changes, false);
    const rest = [...changes.entries()].values();
    let mayContinue = true;
    // Each worker continues after its own start, so that no slow machine blocks the others.
    const worker = async (): Promise<void> => {
      for (const [at, change] of rest)
        try {
          mayContinue =
            mayContinue && !stops() && (await one(change, positions[at], stops)) && mayContinue;
          if (!mayContinue) return;
        } catch (cause) {
          mayContinue = false;
          throw cause;
        }
    };
    await all(Array.from({ length: Math.min(pace.concurrency, changes.length) }, worker));
    return mayContinue;
  }
  return {
    /** Starts machines. False if it ended before the last. */
    go: (changes: readonly C[]): Promise<boolean> => go(changes, enough),
    /** Retries waiting machines until none waits or the time is over. */
    async retry(): Promise<void> {
      const since = clock.now();
      while (waiting.length > 0 && !enough() && clock.now() - since < pace.lockWait) {
        await clock.sleep(RETRY_MS);
        const tried = waiting.map(([change]) => change);
        waiting = [];
        await go(tried, () => false);
        await flight.drain();
      }
    },
    giveUp(): void {
      for (const [change, position] of waiting)
        ends({ change, position, completed, made: false, found: false });
    },
    flight,
    waiting: (): number => waiting.length,
    completed: (): number => completed,
  };
}

const RETRY_MS = 500;

/** Of several errors, throws the one with the least certain state. */
async function all(works: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(works);
  const reasons = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  if (reasons.length > 0) throw reasons.find((reason) => !isDenied(reason)) ?? reasons[0];
}

const PAUSES_MS = [0, 1000] as const;

/** @param end called when a machine ends */
function flightOf<C extends { readonly id: string }, P extends Position>(
  { part, pace }: Pick<WindowLeg<C, P>, "part" | "pace">,
  { clock, stopping }: Pick<Session, "stopping"> & { readonly clock: Clock },
  acts: Pick<Acts<C, P>, "perform">,
  end: (change: C, position: P) => Promise<void>,
) {
  const inProgress = new Map<string, { readonly change: C; readonly since: number }>();
  const { pauses = PAUSES_MS } = pace;
  const longest = pauses.at(-1) ?? pauses[0];
  let waitIndex = 0;
  let next = 0;
  const isFull = (): boolean =>
    inProgress.size + pace.concurrency > (pace.inFlight ?? part.room?.() ?? pace.concurrency);

  /** A machine that is unchanged was waiting for a lock at its start, so it is started again. */
  async function nextOf(change: C, position: P, late: boolean): Promise<P> {
    if (position.is === "after" || position.is === "other") return position;
    if (late) return part.overdue?.(change, position) ?? position;
    if (position.is !== "before") return position;
    waitIndex = 0;
    return acts.perform(change, position);
  }
  async function watch(): Promise<void> {
    const watched = [...inProgress.values()];
    if (watched.length === 0) return;
    const positions = await part.inspect(
      watched.map(({ change }) => change),
      true,
    );
    for (const [at, { change, since }] of watched.entries()) {
      const position = positions[at];
      if (position === undefined) throw new Error(`${part.name} has no state of ${change.id}`);
      const late = clock.now() - since >= pace.deadline;
      const reached = await nextOf(change, position, late);
      if (!late && reached.is !== "after" && reached.is !== "other") continue;
      inProgress.delete(change.id);
      await end(change, reached);
    }
  }
  return {
    add: (change: C): void => void inProgress.set(change.id, { change, since: clock.now() }),
    size: (): number => inProgress.size,
    /** Waits until another machine may start. False after a stop. */
    async room(stops: () => boolean): Promise<boolean> {
      while (isFull() && !stops()) {
        await watch();
        if (isFull()) await clock.sleep(longest);
      }
      while (clock.now() < next && !stops()) {
        await clock.sleep(Math.min(longest, next - clock.now()));
        await watch();
      }
      next = Math.max(next, clock.now()) + pace.every;
      return !stops();
    },
    /** Watches machines until each has ended, or until a stop is requested. */
    async drain(): Promise<void> {
      for (waitIndex = 0; inProgress.size > 0 && !stopping(); waitIndex += 1) {
        const wait = pauses[waitIndex] ?? longest;
        if (wait > 0) await clock.sleep(wait);
        if (!stopping()) await watch();
      }
    },
  };
}

/** Changes machines, with journal entries. */
type Acts<C extends { readonly id: string }, P extends Position> = ReturnType<typeof actsOf<C, P>>;

function actsOf<C extends { readonly id: string }, P extends Position>(
  part: WindowPart<C, P>,
  { journal, now, by }: Pick<Session, "journal" | "now" | "by">,
  direction: Direction,
  startedChanges: ReadonlyMap<string, StartedChange>,
) {
  /** By id, the data of its start entry. */
  const started = new Map<string, string>();
  const made = new Set<string>();
  const about = (id: string) => ({ part: part.name, id, at: now() });

  async function begin(id: string, observed?: JsonObject): Promise<void> {
    const what = JSON.stringify(observed ?? null);
    if (started.get(id) === what) return;
    started.set(id, what);
    const keeps = observed !== undefined && (direction !== "back" || part.keepsBack === true);
    await journal.append({
      ...{ do: direction === "back" ? "return" : "start", ...about(id), by },
      ...(keeps && { observed }),
    });
  }
  /** Journal entry of an end. Null if it is recorded already, or nothing ended. */
  function entryOf(id: string, { is, remainder }: P): MachineEntry | null {
    if (direction === "back") {
      if (is === "after") return { do: "returned", ...about(id) };
      return remainder === undefined ? null : { do: "returned", ...about(id), left: remainder };
    }
    const isOpen = started.has(id) || startedChanges.get(id)?.open === true;
    return is === "after" && isOpen ? { do: "end", ...about(id) } : null;
  }
  return {
    async perform(change: C, position: P): Promise<P> {
      const { id } = change;
      const reached = await part.perform(change, position, (observed) => begin(id, observed));
      if (reached.is === "before") throw new Error(`${part.name} left ${id} as it was`);
      if (reached.is === "other" || reached.is === "waiting") return reached;
      if (!started.has(id)) throw new Error(`${part.name} changed ${id} and did not begin it`);
      made.add(id);
      return reached;
    },
    /** Records the end. @returns whether the machine was changed now */
    async ended({ id }: C, position: P): Promise<boolean> {
      const entry = entryOf(id, position);
      if (entry !== null) await journal.append(entry);
      return made.has(id);
    },
    /** Whether a machine was started, so that something may be changed. */
    hasStarted: (): boolean => started.size > 0,
    made: (): number => made.size,
  };
}
