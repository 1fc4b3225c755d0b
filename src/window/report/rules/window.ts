import { counted } from "../../../lib/text.ts";
import { type TakeOverPace, USUAL_PACE } from "../../../model/handover.ts";
import type { Unrehearsed } from "../../../model/rehearsal.ts";
import type { Measured, RanCommand, WindowStep } from "./facts.ts";

export interface Forecast {
  readonly machines: number;
  /** Machines in use, because conductors take over no others. */
  readonly takeOvers: number;
  /** Rows of Ironic and Nova that the plan writes. */
  readonly rows: number;
  /** Machines handed over per minute, if the option is set. */
  readonly perMinute: number | null;
  /** Machines are released step by step. On Juno, conductors find all at once. */
  readonly staged?: boolean;
  readonly pace: TakeOverPace;
  readonly measured: Measured;
}

/** The expected duration of one command, with the source of the figure. */
export function stepOf(command: string, facts: Forecast): WindowStep {
  if (command === "apply") return load(facts);
  return command === "handover" ? takeOver(facts) : asBefore(command, facts.measured.ran);
}

/** Exit statuses of complete runs, in addition to 0. A refusal takes no time. */
const COMPLETE: { readonly [command: string]: readonly number[] } = {
  ...{ power: [3], plan: [2, 6], apply: [3], check: [1, 2] },
};

function didItsWork({ command, status }: RanCommand): boolean {
  // A command without a status is from the migration record, which has only completed stages.
  return status === null || status === 0 || (COMPLETE[command] ?? []).includes(status);
}

/** The longest complete run of the command, because later ones may be partial. */
function asBefore(name: string, ran: readonly RanCommand[]): WindowStep {
  const [longest] = ran
    .filter((one) => one.command === name && one.seconds !== null && didItsWork(one))
    .toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  return longest === undefined
    ? byCommand(name, null, "unknown", "not measured in this run")
    : byCommand(
        name,
        longest.seconds,
        "measured",
        `measured ${minute(longest.at)} (the run's log)`,
      );
}

function byCommand(
  name: string,
  seconds: number | null,
  basis: WindowStep["basis"],
  source: string,
): WindowStep {
  return { name, by: "command", seconds, basis, source };
}

/** A suffix about rows of Nova without a copy in a rehearsal. */
export function butFor({ left }: Unrehearsed): string {
  return left === 0 ? "" : ` but for ${counted(left, "row")} of Nova`;
}

function load({ rows, measured }: Forecast): WindowStep {
  const { loaded, rehearsed } = measured;
  if (rows === 0) return byCommand("apply", 0, "measured", "nothing is left to load");
  const [sample, where] =
    loaded !== null && loaded.seconds > 0
      ? [loaded, "as before (journal.jsonl)"]
      : [rehearsed, `as rehearsed${rehearsed ? butFor(rehearsed.nova) : ""} (rehearsal.json)`];
  if (sample === undefined || sample.seconds === 0) return asBefore("apply", measured.ran);
  const rate = sample.count / sample.seconds;
  const source = `${counted(rows, "row")} at ${figure(rate)} a second, ${where}`;
  return byCommand("apply", rows / rate, "measured", source);
}

function takeOver(facts: Forecast): WindowStep {
  const { machines, takeOvers, perMinute, staged, pace, measured } = facts;
  const name = `handover: conductors take over ${counted(takeOvers, "machine")}`;
  const { handed } = measured;
  const { seconds, each, source } = forecast(takeOvers, pace, staged);
  // The first batch waits for a conductor's next pass, even if it is small.
  const isPace = (count: number): boolean => count > each || count >= machines;
  if (handed !== null && handed.seconds > 0 && isPace(handed.count)) {
    const rate = handed.count / handed.seconds;
    const before = `${figure(rate * 60)} a minute, as before (journal.jsonl)`;
    return byCommand(name, machines / rate, "measured", before);
  }
  // This setting must be fixed first, at least to Ironic's default.
  if (seconds === null)
    return byCommand(name, forecast(takeOvers, USUAL_PACE, staged).seconds, "estimate", source);
  const least = perMinute === null || perMinute <= 0 ? 0 : (machines / perMinute) * 60;
  return least > seconds
    ? byCommand(name, least, "given", `--per-minute ${perMinute}, as specified`)
    : byCommand(name, seconds, "estimate", `estimate: ${source}`);
}

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

function figure(rate: number): string {
  return rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1);
}

/** `2026-11-22 20:13`, from a time stamp. */
export function minute(at: string): string {
  return at.slice(0, 16).replace("T", " ");
}

export function second(at: string): string {
  return at.slice(0, 19).replace("T", " ");
}
