import type { StartedChange } from "../../src/engine/started.ts";
import { type Ending, runWindow, type WindowEnd } from "../../src/engine/window.ts";
import {
  ONE_BY_ONE,
  type Pace,
  type Position,
  type WindowLeg,
  type WindowPart,
} from "../../src/engine/window-part.ts";
import type { MigrationError } from "../../src/lib/error.ts";
import type { Entry } from "../../src/model/journal.ts";
import { journalOf, step } from "./memory-part.ts";

/** A door of a machine, which somebody opens and closes; some need a while to open. */
interface Door {
  readonly id: string;
  /** What it was before, on the way back. */
  readonly was?: string;
}

export interface Specified extends Position {
  readonly says: string;
}

type CallState = "closed" | "locked up" | "opening" | "open" | "stolen";

/** Doors in memory, a journal, a clock that only sleeping moves, and a count of steps to the end of it all. */
export interface Doors {
  readonly at: Map<string, CallState>;
  readonly held: Map<string, string>;
  /** When each began to open. */
  readonly since: Map<string, number>;
  readonly entries: Entry[];
  /** Steps until the process dies; negative: never. */
  dieIn: number;
  /** Milliseconds a door needs to open; it never does when that is infinite. */
  takes: number;
  now: number;
  /** What happens as the clock moves on. */
  readonly due: Map<number, () => void>;
  /** Doors opening at the same time, at most. */
  most: number;
  /** Doors that do not move while somebody leans on them. */
  readonly leant: Set<string>;
  /** What opening a door meets. */
  readonly fails: Map<string, MigrationError>;
  stopping: () => boolean;
  /** What opening a door waits for, once it is begun; null: nothing. */
  slow?: (id: string) => Promise<void> | null;
}

export function doors(count: number): Doors {
  const ids = Array.from({ length: count }, (_, at) => `d${at}`);
  return {
    at: new Map(ids.map((id) => [id, id === "d1" ? "locked up" : "closed"])),
    ...{ entries: [], dieIn: -1, takes: 0, now: 0, most: 0 },
    ...{ held: new Map(), since: new Map(), due: new Map(), fails: new Map(), leant: new Set() },
    stopping: () => false,
  };
}

function callStateOf(of: Doors, id: string): CallState | undefined {
  const since = of.since.get(id);
  if (of.at.get(id) === "opening" && since !== undefined && of.now - since >= of.takes)
    of.at.set(id, "open");
  return of.at.get(id);
}

function positionOf(of: Doors, id: string): Specified {
  const stand = callStateOf(of, id) ?? "stolen";
  const holder = of.held.get(id);
  if (stand === "open") return { is: "after", says: "open" };
  if (stand === "opening") return { is: "partway", says: "opening" };
  if (stand === "stolen") return { is: "other", says: "stolen" };
  return holder === undefined ? { is: "before", says: stand } : { is: "waiting", says: holder };
}

function opener(of: Doors, silent: boolean): WindowPart<Door, Specified> {
  return {
    ...{ name: "doors", size: 4 },
    inspect: (changes) => Promise.resolve(changes.map(({ id }) => positionOf(of, id))),
    async perform({ id }, seen, begin) {
      const failure = of.fails.get(id);
      if (!silent) await begin({ was: seen.says });
      step(of);
      await of.slow?.(id);
      if (failure !== undefined) throw failure;
      // Somebody leans on it: it is begun, and tried again while it is watched.
      if (of.leant.has(id)) return { is: "partway", says: "leant on" };
      of.at.set(id, "opening");
      of.since.set(id, of.now);
      const under = [...of.at.keys()].filter((one) => callStateOf(of, one) === "opening");
      of.most = Math.max(of.most, under.length);
      step(of);
      return positionOf(of, id);
    },
    overdue: (_, last) => ({ ...last, is: "other", says: "does not open" }),
  };
}

function closer(of: Doors): WindowPart<Door, Specified> {
  return {
    ...{ name: "doors", size: 4 },
    inspect: (changes) =>
      Promise.resolve(
        changes.map(({ id, was }) => {
          const stand = callStateOf(of, id) ?? "stolen";
          const holder = of.held.get(id);
          if (stand === was) return { is: "after", says: stand };
          if (stand === "stolen") return { is: "other", says: stand };
          return holder === undefined
            ? { is: "before", says: stand }
            : { is: "waiting", says: holder };
        }),
      ),
    async perform({ id, was }, _, begin) {
      await begin();
      step(of);
      of.at.set(id, was as CallState); // as the journal has it, which this file wrote
      step(of);
      return { is: "after", says: String(was) };
    },
  };
}

export interface Opened extends WindowEnd {
  readonly ends: readonly Ending<Door, Specified>[];
  readonly said: readonly string[];
}

function sessionOf(of: Doors) {
  return {
    journal: journalOf(of),
    ...{ now: () => new Date(of.now).toISOString(), by: "a test", stopping: () => of.stopping() },
    clock: {
      now: () => of.now,
      sleep(milliseconds: number) {
        of.now += milliseconds;
        for (const [at, work] of of.due) if (of.now >= at && of.due.delete(at)) work();
        return Promise.resolve();
      },
    },
  };
}

async function gathered(
  walk: (ends: (ending: Ending<Door, Specified>) => void) => Promise<WindowEnd>,
): Promise<Opened> {
  const ends: Ending<Door, Specified>[] = [];
  const end = await walk((ending) => ends.push(ending));
  const said = ends.map(({ change, position }) => `${change.id} ${position.says}`);
  return { ...end, ends, said };
}

/** @param silent a part that says nothing before it acts */
export function open(of: Doors, pace: Partial<Pace> = {}, silent = false): Promise<Opened> {
  const leg: WindowLeg<Door, Specified> = {
    ...{ part: opener(of, silent), command: "open", pace: { ...ONE_BY_ONE, ...pace } },
    async *changes() {
      yield [...of.at.keys()].map((id) => ({ id }));
    },
  };
  return gathered((ends) => runWindow("forward", leg, sessionOf(of), ends));
}

export function close(of: Doors, pace: Partial<Pace> = {}): Promise<Opened> {
  const leg: WindowLeg<Door, Specified> = {
    ...{ part: closer(of), command: "close", pace: { ...ONE_BY_ONE, ...pace } },
    async *changes(ours: ReadonlyMap<string, StartedChange>) {
      yield [...of.at.keys()]
        .toReversed()
        .map((id) => ({ ...{ id, was: String(ours.get(id)?.observed[0]?.was) } }));
    },
  };
  return gathered((ends) => runWindow("back", leg, sessionOf(of), ends));
}
