import type { Clock, Session } from "./session.ts";
import type { Acts } from "./window-acts.ts";
import type { Position, WindowLeg } from "./window-part.ts";

/** Machines that were begun and are not at their end. */
export interface Flight<C> {
  readonly add: (change: C) => void;
  readonly size: () => number;
  /** Waits until one more may be begun; false when none is to be, by then. */
  readonly room: (stops: () => boolean) => Promise<boolean>;
  /** Watches them until each has ended, or somebody asks to stop. */
  readonly drain: () => Promise<void>;
}

const LOOK_MS = 1000;

/** @param end a machine has come to its end */
export function flightOf<C extends { readonly id: string }, P extends Position>(
  { part, pace }: Pick<WindowLeg<C, P>, "part" | "pace">,
  { clock, stopping }: Pick<Session, "stopping"> & { readonly clock: Clock },
  acts: Pick<Acts<C, P>, "perform">,
  end: (change: C, position: P) => Promise<void>,
): Flight<C> {
  const underWay = new Map<string, { readonly change: C; readonly since: number }>();
  let next = 0;
  const isFull = (): boolean => underWay.size + pace.together > pace.inFlight;

  /** One that is as before waited when it was begun: it is begun again. */
  async function nextOf(change: C, seen: P, late: boolean): Promise<P> {
    if (seen.is === "after" || seen.is === "other") return seen;
    if (late) return part.overdue?.(change, seen) ?? seen;
    return seen.is === "before" ? acts.perform(change, seen) : seen;
  }
  async function watch(): Promise<void> {
    const watched = [...underWay.values()];
    if (watched.length === 0) return;
    const seen = await part.inspect(
      watched.map(({ change }) => change),
      true,
    );
    for (const [at, { change, since }] of watched.entries()) {
      const position = seen[at];
      if (position === undefined) throw new Error(`${part.name} lost sight of ${change.id}`);
      const late = clock.now() - since >= pace.deadline;
      const reached = await nextOf(change, position, late);
      if (!late && reached.is !== "after" && reached.is !== "other") continue;
      underWay.delete(change.id);
      await end(change, reached);
    }
  }
  return {
    add: (change) => void underWay.set(change.id, { change, since: clock.now() }),
    size: () => underWay.size,
    async room(stops) {
      while (isFull() && !stops()) {
        await watch();
        if (isFull()) await clock.sleep(LOOK_MS);
      }
      while (clock.now() < next && !stops()) {
        await clock.sleep(Math.min(LOOK_MS, next - clock.now()));
        await watch();
      }
      next = Math.max(next, clock.now()) + pace.every;
      return !stops();
    },
    async drain() {
      while (underWay.size > 0 && !stopping()) {
        await watch();
        if (underWay.size > 0) await clock.sleep(LOOK_MS);
      }
    },
  };
}
