import type { TakeOverPace } from "../../model/handover.ts";

interface Forecast {
  /** At most; null: no conductor takes any machine over. */
  readonly seconds: number | null;
  /** Machines in each pass. */
  readonly each: number;
  /** Where the figure comes from, in words. */
  readonly source: string;
}

/**
 * How long conductors take for machines that they take over. Passes are counted whole, and an interval for each: the
 * first pass begins within one interval after machines are there, each later one an interval after the one before.
 * Machines are spread evenly over conductors. A take-over itself takes no time here: it goes on between passes.
 *
 * @param machines in use: of others there is no take-over
 * @param inFlight machines that are released and not taken over yet, at most
 * @source ironic _sync_local_state, 2014.2 to 38.0.0
 */
export function forecast(
  machines: number,
  { interval, workers, conductors, from }: TakeOverPace,
  inFlight = Number.POSITIVE_INFINITY,
): Forecast {
  const each = Math.min(workers * conductors, inFlight);
  if (interval <= 0 || each <= 0) {
    const key = interval <= 0 ? "sync_local_state_interval" : "periodic_max_workers";
    return { seconds: null, each: 0, source: `no machine is taken over: ${key} is 0 in ${from}` };
  }
  const limit = each < workers * conductors ? ` with --in-flight ${inFlight}` : "";
  return {
    ...{ seconds: Math.ceil(machines / each) * interval, each },
    source: `${each} machines every ${interval} s${limit}, by ${from}`,
  };
}
