import { counted } from "../../../lib/text.ts";
import { type TakeOverPace, USUAL_PACE } from "../../../model/handover.ts";

/**
 * The duration of a hand-over: passes times interval. The first pass begins within one interval
 * after the first release, and conductors share machines evenly. The takeover itself is excluded,
 * because it overlaps with the next interval.
 * @param machines in use, because others need no takeover
 * @param staged machines are released eight per conductor, doubled with each pass. Otherwise,
 * conductors find all machines at once
 * @returns `seconds`: an upper bound, or null if no conductor takes a machine over; `each`: the most
 * machines in a pass; `source` of the figure
 * @source ironic _sync_local_state, 2014.2 to 38.0.0
 */
export function forecast(
  machines: number,
  { interval, workers, conductors, from }: TakeOverPace,
  staged = true,
) {
  const each = workers * conductors;
  if (interval <= 0 || each <= 0) {
    const key = interval <= 0 ? "sync_local_state_interval" : "periodic_max_workers";
    return { seconds: null, each: 0, source: `no takeovers, because ${key} is 0 in ${from}` };
  }
  let [passes, rest, released] = [0, machines, staged ? USUAL_PACE.workers * conductors : machines];
  for (; rest > 0; passes += 1) {
    rest -= Math.min(released, each);
    released *= 2;
  }
  const source = `${counted(each, "machine")} every ${interval} s, by ${from}`;
  return { seconds: passes * interval, each, source };
}
