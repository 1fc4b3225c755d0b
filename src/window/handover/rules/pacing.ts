/** One pass of a conductor, detected by reservations in quick succession. */
interface Burst {
  readonly began: number;
  last: number;
  taken: number;
}

/** A machine in progress, as it was inspected. */
interface Inspected {
  readonly id: string;
  /** Only machines in use need a takeover. */
  readonly used: boolean;
  /** `after` or `other` at its end. */
  readonly is: string | undefined;
  /** The conductor that has reserved it or taken it over. */
  readonly by: string | null;
}

/** Ironic's default of periodic_max_workers. If it is lower, machines wait for another pass. */
const SMALLEST = 8;
/** Factor of released machines to machines in a pass, to detect that a pass could take more. */
const SPARE = 1.25;
/** Milliseconds without a reservation that end a pass. */
const PAUSE = 2000;
/** Milliseconds of the longest pass, for conductors without pauses. */
const LONGEST = 30_000;
/** Ironic's default of sync_local_state_interval, in milliseconds. */
const INTERVAL = 180_000;
const PASSES = 4;

/**
 * Machines that waited when a pass began. They show whether the pass took as many as possible. Null
 * if there are none.
 */
function roundOf(waiting: ReadonlyMap<string, number>, now: number) {
  const waits = [...waiting].flatMap(([id, since]) => (now - since > PAUSE ? [id] : []));
  if (waits.length === 0) return null;
  return {
    ...{ size: waits.length, waits: new Set(waits), failed: false },
    bursts: new Map<string, Burst[]>(),
    /** Time of its last reservation. */
    last: now,
  };
}

function intervalOf(marks: readonly { readonly at: number }[]): number {
  const [before, last] = marks.slice(-2);
  return before === undefined || last === undefined ? INTERVAL : last.at - before.at;
}

type Round = NonNullable<ReturnType<typeof roundOf>>;

/**
 * Limits the released machines that wait for a conductor. The limit starts at eight per conductor,
 * doubles while one pass starts with all of them, then stays 25 % above a pass. If a conductor
 * takes machines that its previous pass left, that pass was full. A pass reserves its machines at
 * once, so the duration of a takeover does not matter.
 * @param deadline milliseconds for one machine, which must include two passes
 * @source facts/ironic.md 1.5 and trap 10
 */
export function createPacing(deadline: number) {
  const waiting = new Map<string, number>();
  /** Reserved, but not taken over. */
  const reservedBefore = new Set<string>();
  const bursts = new Map<string, Burst>();
  /** By conductor: finished machines at the start of its last passes. */
  const marks = new Map<string, { readonly at: number; readonly completed: number }[]>();
  let round: Round | null = null;
  let latest: string | null = null;
  let share = SMALLEST;
  let completed = 0;

  function burstOf(by: string, now: number): Burst {
    const current = bursts.get(by);
    if (current !== undefined && now - current.last <= PAUSE && now - current.began <= LONGEST)
      return current;
    const burst = { began: now, last: now, taken: 0 };
    bursts.set(by, burst);
    marks.set(by, [...(marks.get(by) ?? []), { at: now, completed }].slice(-PASSES));
    latest = by;
    return burst;
  }
  /** Passes of the most recent conductor. */
  const recent = () => (latest === null ? [] : (marks.get(latest) ?? []));
  /** @returns whether an earlier pass of the conductor left this machine */
  function take(id: string, by: string, now: number): boolean {
    const burst = burstOf(by, now);
    burst.taken += 1;
    burst.last = now;
    waiting.delete(id);
    reservedBefore.add(id);
    if (round === null || !round.waits.delete(id)) return false;
    round.last = now;
    const previous = round.bursts.get(by) ?? [];
    if (!previous.includes(burst)) round.bursts.set(by, [...previous, burst]);
    return previous.length > 0 && !previous.includes(burst);
  }
  function judge({ size, bursts: all, failed }: Round, isFull: boolean, conductors: number): void {
    if (isFull) {
      const most = [...all.values()].map((group) => Math.max(...group.map(({ taken }) => taken)));
      const mean = most.reduce((sum, one) => sum + one, 0) / most.length;
      share = Math.max(SMALLEST, SPARE * mean);
    } else if (!failed && 2 * intervalOf(recent()) < deadline)
      share = Math.max(share, (2 * size) / Math.max(1, conductors));
  }
  return {
    released: (id: string, now: number): void => void waiting.set(id, now),
    /** @param conductors number of suitable live ones */
    inspected(now: number, conductors: number, machines: readonly Inspected[]): void {
      const starts = machines.filter((one) => one.used && one.by !== null && waiting.has(one.id));
      if (starts.length > 0) round ??= roundOf(waiting, now);
      let isFull = false;
      for (const { id, by } of starts) isFull = take(id, by ?? "", now) || isFull;
      const ended = machines.filter(({ is }) => is === "after" || is === "other");
      completed += ended.length;
      for (const { id } of ended) reservedBefore.delete(id);
      for (const { id } of ended.filter(({ is }) => is === "other")) {
        waiting.delete(id);
        round?.waits.delete(id);
        if (round !== null) round.failed = true;
      }
      // Failures appear before the limit increases.
      const isComplete = round?.waits.size === 0 && now - round.last >= PAUSE;
      if (round === null || !(isFull || isComplete)) return;
      judge(round, isFull, conductors);
      round = null;
    },
    /** Upper bound of machines that are released and not taken over. */
    most: (conductors: number): number =>
      Math.ceil(share * Math.max(1, conductors)) + reservedBefore.size,
    /** Machines per second in recent passes. Null before two passes of one conductor. */
    rate(): number | null {
      const [first] = recent();
      const last = recent().at(-1);
      if (first === undefined || last === undefined || first === last) return null;
      return ((last.completed - first.completed) * 1000) / (last.at - first.at);
    },
  };
}
