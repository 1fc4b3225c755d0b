/** How far a stage is. Null where there is no evidence yet. */
type Evidence = {
  readonly done: number;
  readonly total: number | null;
  /** Whole percent, rounded down. */
  readonly percent: number | null;
  /** Per second. */
  readonly rate: number | null;
  /** Seconds still to go. */
  readonly eta: number | null;
};

/** Milliseconds a rate must have been seen before anything is foretold from it. */
const EVIDENCE = 2000;

/**
 * The rate since the beginning, and when the stage will end. The end is withheld until 1 % and two
 * seconds are behind us: a forecast from less is a guess, and operators plan windows by it.
 *
 * @param elapsed milliseconds since the stage began
 * @param before of `done`, what an earlier run had done: it says nothing of this one's rate
 */
export function measure(
  done: number,
  total: number | undefined,
  elapsed: number,
  before = 0,
): Evidence {
  const since = done - before;
  const rate = elapsed > 0 ? (since * 1000) / elapsed : null;
  const known = total !== undefined && total > 0;
  const seen = known && since * 100 >= total - before;
  const told = seen && rate !== null && rate > 0 && elapsed >= EVIDENCE;
  return {
    done,
    total: total ?? null,
    percent: known ? Math.min(100, Math.floor((done * 100) / total)) : null,
    rate: rate === null ? null : Math.round(rate * 10) / 10,
    eta: told ? Math.max(0, Math.ceil((total - done) / rate)) : null,
  };
}

/** `1200 of 5000 (24 %), 310/s, ETA 13 s`. */
export function sentence({ done, total, percent, rate, eta }: Evidence): string {
  return [
    total === null ? `${done}` : `${done} of ${total}`,
    percent === null ? "" : ` (${percent} %)`,
    rate === null ? "" : `, ${rate < 10 ? rate : Math.round(rate)}/s`,
    eta === null ? "" : `, ETA ${duration(eta * 1000)}`,
  ].join("");
}

/** `0.2 s`, `42 s`, `3 min 05 s`, `2 h 07 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  const two = (part: number): string => String(part).padStart(2, "0");
  if (minutes === 0) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
