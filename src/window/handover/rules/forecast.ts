import { counted } from "../../../lib/text.ts";
import { type TakeOverPace, USUAL_PACE } from "../../../model/handover.ts";

interface Forecast {
  /** An upper bound. Null: no conductor takes a machine over. */
  readonly seconds: number | null;
  /** Upper bound of machines in a pass. */
  readonly each: number;
  /** The source of the figure. */
  readonly source: string;
}

/**
 * The duration of a hand-over: passes times interval. The first pass begins within one interval
 * after the first release, and conductors share machines evenly. The take-over itself is excluded,
 * because it overlaps with the next interval.
 * @param machines in use, because others need no take-over
 * @param inFlight maximum of released machines that are not taken over. Default: eight per
 * conductor, doubled with each pass
 * @source ironic _sync_local_state, 2014.2 to 38.0.0
 */
export function forecast(
  machines: number,
  { interval, workers, conductors, from }: TakeOverPace,
  inFlight?: number,
): Forecast {
  const each = Math.min(workers * conductors, inFlight ?? Number.POSITIVE_INFINITY);
  if (interval <= 0 || each <= 0) {
    const key = interval <= 0 ? "sync_local_state_interval" : "periodic_max_workers";
    return { seconds: null, each: 0, source: `no machine is taken over: ${key} is 0 in ${from}` };
  }
  let [passes, left, released] = [0, machines, inFlight ?? USUAL_PACE.workers * conductors];
  for (; left > 0; passes += 1) {
    left -= Math.min(released, each);
    released *= 2;
  }
  const limit = each < workers * conductors ? ` with --in-flight ${inFlight}` : "";
  return {
    ...{ seconds: passes * interval, each },
    source: `${counted(each, "machine")} every ${interval} s${limit}, by ${from}`,
  };
}
