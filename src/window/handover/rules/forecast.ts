import { counted } from "../../../lib/text.ts";
import { type TakeOverPace, USUAL_PACE } from "../../../model/handover.ts";

interface Forecast {
  /** At most; null: no conductor takes any machine over. */
  readonly seconds: number | null;
  /** Machines in a pass, at most. */
  readonly each: number;
  /** Where the figure comes from, in words. */
  readonly source: string;
}

/**
 * The duration of a hand-over: the number of passes times the interval between them. The first pass begins within one
 * interval after the first machine is released. The conductors share the machines evenly. The work of a take-over is not
 * included, because it overlaps with the next interval.
 *
 * @param machines in use: of others there is no take-over
 * @param inFlight machines that are released and not taken over yet, at most; without it `handover` begins with eight
 *   for each conductor and doubles them with each pass
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
