/** One pass of a conductor, as it is seen from outside: machines that it reserves one soon after the other. */
interface Burst {
  readonly began: number;
  last: number;
  taken: number;
}

/** Machines that waited when a pass came: they tell whether it took all that it could. */
interface Round {
  readonly size: number;
  readonly waits: Set<string>;
  /** By conductor. */
  readonly bursts: Map<string, Burst[]>;
  /** When the last of them was reserved. */
  last: number;
  failed: boolean;
}

/** A look at machines under way, at a time in milliseconds. */
interface Look {
  readonly now: number;
  /** Conductors that would take them over, and are alive. */
  readonly conductors: number;
  /** Machines that a conductor has reserved, or has taken over already. */
  readonly begun: readonly { readonly id: string; readonly by: string }[];
  readonly taken: readonly string[];
  readonly failed: readonly string[];
  /** Machines that need no conductor to take them over. */
  readonly free: number;
}

/** periodic_max_workers as Ironic has it: where it is set to less, machines wait for one pass more. */
const SMALLEST = 8;
/** Of what a pass takes, released beyond it: it shows when a pass could take more, and no conductor runs dry. */
const SPARE = 1.25;
/** Milliseconds without a reservation that end a pass; a machine released since then may not have been seen by the pass. */
const PAUSE = 2000;
/** Milliseconds, the longest pass: conductors that are always at work have no pauses. */
const LONGEST = 30_000;
/** Milliseconds, sync_local_state_interval as Ironic has it. */
const INTERVAL = 180_000;
/** Passes that a rate is measured over. */
const PASSES = 4;

function intervalOf(marks: readonly { readonly at: number }[]): number {
  const [before, last] = marks.slice(-2);
  return before === undefined || last === undefined ? INTERVAL : last.at - before.at;
}

/** Null if no machine waited when the pass came. */
function roundOf(waiting: ReadonlyMap<string, number>, now: number): Round | null {
  const waits = [...waiting].flatMap(([id, since]) => (now - since > PAUSE ? [id] : []));
  if (waits.length === 0) return null;
  return { size: waits.length, waits: new Set(waits), bursts: new Map(), last: now, failed: false };
}

/**
 * How many machines are released and wait for a conductor. It begins with eight for each conductor, doubles as long as
 * one pass begins with all of them, and then stays at a quarter more than a pass begins with. A conductor that comes back
 * for machines that its pass before had left took all it could in that pass. A pass reserves its machines at once, so that
 * the duration of a take-over does not matter: machines that are reserved wait no longer.
 *
 * @param deadline milliseconds for one machine, within which two passes have to be
 * @source facts/ironic.md 1.5 and trap 10
 */
export function createPacing(deadline: number) {
  const waiting = new Map<string, number>();
  /** Reserved, and not taken over yet. */
  const begunBefore = new Set<string>();
  const bursts = new Map<string, Burst>();
  /** By conductor, how many machines were behind us as its last passes began. */
  const marks = new Map<string, { readonly at: number; readonly behind: number }[]>();
  let round: Round | null = null;
  let latest: string | null = null;
  let share = SMALLEST;
  let behind = 0;

  function burstOf(by: string, now: number): Burst {
    const known = bursts.get(by);
    if (known !== undefined && now - known.last <= PAUSE && now - known.began <= LONGEST)
      return known;
    const burst = { began: now, last: now, taken: 0 };
    bursts.set(by, burst);
    marks.set(by, [...(marks.get(by) ?? []), { at: now, behind }].slice(-PASSES));
    latest = by;
    return burst;
  }
  /** Those of the conductor that came last. */
  const recent = () => (latest === null ? [] : (marks.get(latest) ?? []));
  /** @returns whether the conductor had left this machine in a pass before */
  function take(id: string, by: string, now: number): boolean {
    const burst = burstOf(by, now);
    burst.taken += 1;
    burst.last = now;
    waiting.delete(id);
    begunBefore.add(id);
    if (round === null || !round.waits.delete(id)) return false;
    round.last = now;
    const own = round.bursts.get(by) ?? [];
    if (!own.includes(burst)) round.bursts.set(by, [...own, burst]);
    return own.length > 0 && !own.includes(burst);
  }
  function judge({ size, bursts: seen, failed }: Round, isFull: boolean, conductors: number): void {
    if (isFull) {
      const most = [...seen.values()].map((own) => Math.max(...own.map(({ taken }) => taken)));
      const mean = most.reduce((sum, one) => sum + one, 0) / most.length;
      share = Math.max(SMALLEST, SPARE * mean);
    } else if (!failed && 2 * intervalOf(recent()) < deadline)
      share = Math.max(share, (2 * size) / Math.max(1, conductors));
  }
  return {
    /** A machine that a conductor has to take over is released. */
    released: (id: string, now: number): void => void waiting.set(id, now),
    looked({ now, conductors, begun, taken, failed, free }: Look): void {
      const starts = begun.filter(({ id }) => waiting.has(id));
      if (starts.length > 0) round ??= roundOf(waiting, now);
      let isFull = false;
      for (const { id, by } of starts) isFull = take(id, by, now) || isFull;
      if (round !== null && failed.length > 0) round.failed = true;
      for (const id of failed) {
        waiting.delete(id);
        round?.waits.delete(id);
      }
      for (const id of [...taken, ...failed]) begunBefore.delete(id);
      behind += taken.length + failed.length + free;
      // What fails at once is seen before the number grows.
      const isWhole = round?.waits.size === 0 && now - round.last >= PAUSE;
      if (round === null || !(isFull || isWhole)) return;
      judge(round, isFull, conductors);
      round = null;
    },
    /** Machines that may be released and not taken over yet. */
    most: (conductors: number): number =>
      Math.ceil(share * Math.max(1, conductors)) + begunBefore.size,
    /** Machines a second, over recent passes; null until two passes of one conductor were seen. */
    rate(): number | null {
      const [first] = recent();
      const last = recent().at(-1);
      if (first === undefined || last === undefined || first === last) return null;
      return ((last.behind - first.behind) * 1000) / (last.at - first.at);
    },
  };
}
