import { AsyncResource } from "node:async_hooks";
import type { Timers } from "../../../src/lib/ipmi/index.ts";

/** What happens while a command waits, each time before the clock goes on. */
const meanwhile = new Set<() => Promise<unknown>>();

/** Runs a command in this process during which something happens each time that it waits: a service reports. */
export async function whileItWaits<T>(happens: () => Promise<unknown>, command: () => Promise<T>) {
  meanwhile.add(happens);
  try {
    return await command();
  } finally {
    meanwhile.delete(happens);
  }
}

/** Turns of the event loop without use of the clock: what was sent on loopback has arrived by then. */
const TURNS = 4;

/**
 * A clock for commands and BMCs of this process, over real sockets: when nothing happens any more, it goes on to the
 * next moment that is waited for, at once.
 * @param end milliseconds at which it stands still: whatever waits for later waits for ever
 * @param turns of the event loop without use of the clock until it goes on
 */
export function quickClock(end = Infinity, turns = TURNS): Timers {
  const timers = new Map<() => void, number>();
  let [now, idle, isGoing] = [0, 0, false];
  const next = (): readonly [() => void, number] | undefined => {
    let first: readonly [() => void, number] | undefined;
    for (const timer of timers) if (first === undefined || timer[1] < first[1]) first = timer;
    return first !== undefined && first[1] <= end ? first : undefined;
  };
  const turn = (): void => {
    isGoing = next() !== undefined;
    if (!isGoing) return;
    idle += 1;
    if (idle < turns) return void setImmediate(turn);
    void Promise.all([...meanwhile].map((happens) => happens())).then(() => {
      // Timers may have come and gone meanwhile.
      const due = next();
      if (due !== undefined) {
        const [run, at] = due;
        [idle, now] = [0, at];
        timers.delete(run);
        run();
      }
      setImmediate(turn);
    });
  };
  return {
    now: () => {
      idle = 0;
      return now;
    },
    date: () => new Date(),
    after(delay, run) {
      idle = 0;
      const timer = AsyncResource.bind(() => run());
      timers.set(timer, now + Math.max(0, delay));
      if (!isGoing) {
        isGoing = true;
        setImmediate(turn);
      }
      return () => {
        idle = 0;
        timers.delete(timer);
      };
    },
  };
}

export const QUICK = quickClock();

/** Lanes whose BMCs, hosts and services are other processes, which need the time they need. */
const REAL = /^(services|deaths|clouds)$/;
const OF_REAL_LANE = /\.(ironic|death|cloud)\.test\.js$/;

/** The clock of commands and clients in a test's process: absent, the system's, in a lane of real services. */
export const CLOCK: { readonly clock?: Timers } =
  REAL.test(process.env.N2I_LANE ?? "") || OF_REAL_LANE.test(process.argv[1] ?? "")
    ? {}
    : { clock: QUICK };
