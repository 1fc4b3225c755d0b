import type { Planned } from "../core/release/planned.ts";
import { isDenied, stoppedAfter } from "../engine/midway.ts";
import { MigrationError } from "../model/error.ts";

/** What a walk over machines needs of the world. */
export interface Walking {
  readonly clock: {
    readonly now: () => number;
    readonly sleep: (milliseconds: number) => Promise<void>;
  };
  /** True once the operator asked to stop: no other machine is begun. */
  readonly stopping: () => boolean;
  /** Seconds to wait for conductors' locks, in all. */
  readonly lockWait: number;
  /** Machines under way at once. */
  readonly inFlight: number;
}

export interface Walked<Node> {
  /** Machines whose conductor did not let go in time, and its host. */
  readonly locked: readonly (readonly [node: Node, holder: string])[];
  readonly stopped: boolean;
  /** Why it ended after a machine was begun: to be thrown once the rest is told. */
  readonly broke: MigrationError | null;
}

/** @returns the conductor whose lock keeps the machine from it; null when it has come to its end */
type One<Node> = (node: Node) => Promise<string | null>;

const LOOK_MS = 500;

/**
 * Does one thing to each machine of a plan. One that a conductor has reserved is tried again once all
 * others are behind us.
 *
 * @param what the command, for the error that ends it midway
 * @param far how many machines have come to their end, for that error, and how many were changed
 * @throws MigrationError when something breaks before the first is begun, or the first change is denied,
 *   else as `broke`
 */
export async function walk<Node extends Planned>(
  plan: AsyncIterable<readonly Node[]>,
  what: string,
  { clock, stopping, lockWait, inFlight }: Walking,
  one: One<Node>,
  far: () => { readonly behind: number; readonly changed: number },
): Promise<Walked<Node>> {
  let locked: (readonly [Node, string])[] = [];
  let begun = false;
  const all = async (nodes: readonly Node[], stops: () => boolean): Promise<boolean> => {
    for (let at = 0; at < nodes.length; at += inFlight) {
      if (stops()) return false;
      begun = true;
      const some = nodes.slice(at, at + inFlight);
      const ends = await Promise.allSettled(some.map(one));
      for (const [index, end] of ends.entries()) {
        const node = some[index];
        if (node !== undefined && end.status === "fulfilled" && end.value !== null)
          locked.push([node, end.value]);
      }
      const reasons = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
      // Of several the one that leaves most in doubt.
      if (reasons.length > 0) throw reasons.find((reason) => !isDenied(reason)) ?? reasons[0];
    }
    return true;
  };
  const each = async (): Promise<boolean> => {
    for await (const batch of plan) if (!(await all(batch, stopping))) return false;
    return true;
  };
  try {
    if (!(await each())) return { locked: [], stopped: true, broke: null };
    const since = clock.now();
    while (locked.length > 0 && !stopping() && clock.now() - since < lockWait * 1000) {
      await clock.sleep(LOOK_MS);
      const tried = locked.map(([node]) => node);
      locked = [];
      await all(tried, () => false);
    }
  } catch (cause) {
    const none = isDenied(cause) && far().changed === 0 && locked.length === 0;
    if (!begun || none || !(cause instanceof MigrationError)) throw cause;
    return { locked, stopped: false, broke: stoppedAfter(what, `${far().behind} machines`, cause) };
  }
  return { locked, stopped: stopping() && locked.length > 0, broke: null };
}
