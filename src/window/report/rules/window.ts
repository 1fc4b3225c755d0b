import { counted, duration } from "../../../lib/text.ts";
import { type TakeOverPace, USUAL_PACE } from "../../../model/handover.ts";
import type { Rehearsal, Unrehearsed } from "../../../model/rehearsal.ts";

export interface RanCommand {
  /** With an option that changes its effect: `finish --undo`. */
  readonly command: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: the log has no end. */
  readonly seconds: number | null;
  readonly status: number | null;
  /** `done`, `refused`, or that no end was recorded. */
  readonly result: string;
  readonly by: string;
}

export interface Measured {
  readonly ran: readonly RanCommand[];
  /** Rows that apply wrote, from the journal. */
  readonly loaded: Rehearsal["loaded"];
  /** Rows that apply wrote on copies, from the last rehearsal, if any. */
  readonly rehearsed?: NonNullable<Rehearsal["loaded"]> & { readonly nova: Unrehearsed };
  readonly handed: Rehearsal["loaded"];
}

interface Forecast {
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

interface WindowStep {
  readonly name: string;
  readonly by: "command" | "hand";
  /** Null: unknown. */
  readonly seconds: number | null;
  /** `measured` in this run; `given` by an option; `estimate`: neither; `unknown`. */
  readonly basis: "measured" | "given" | "estimate" | "unknown";
  readonly source: string;
}

/** A step with its start and end, in seconds after the start of the window. */
interface NightStep extends WindowStep {
  readonly seconds: number;
  readonly begins: number;
  readonly ends: number;
  /** Seconds of the rollback after this step. */
  readonly back: number;
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

/** The longest complete run of the command, because later ones may be partial. */
function asBefore(name: string, ran: readonly RanCommand[]): WindowStep {
  // A command without a status is from the migration record, which has only completed stages.
  const complete = [null, 0, ...(COMPLETE[name] ?? [])];
  const [longest] = ran
    .filter((one) => one.command === name && one.seconds !== null && complete.includes(one.status))
    .toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  if (longest === undefined) return byCommand(name, null, "unknown", "not measured in this run");
  const source = `measured ${minute(longest.at)} (the run's log)`;
  return byCommand(name, longest.seconds, "measured", source);
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

/** The facts that determine the steps of the migration and their durations. */
interface NightFacts extends Forecast {
  readonly stopped: readonly string[];
  /** Whether takeover leaves boot files that need `boot`. */
  readonly boots: boolean;
  readonly staged: boolean;
}

type PlannedWindow = ReturnType<typeof plannedWindow>;

const DAY = 24 * 60;
const COMMAND = "estimate for 300 machines (manual: night)";

/** Seconds of each step of the rollback. A test compares them with the manual's page `night`. */
const BACK = {
  /** nova.conf, nova-scheduler, message queues, the old nova-compute, Nova's API. */
  services: 300,
  stopConductors: 120,
  trees: 240,
  undo: 60,
  stopCompute: 120,
} as const;

/** The steps of the migration in order, with measured times or the manual's estimates. */
export function nightOf(facts: NightFacts): readonly NightStep[] {
  const hosts = facts.stopped.length;
  const command = (name: string, seconds: number): WindowStep => {
    const estimate = stepOf(name, facts);
    return estimate.seconds === null
      ? { ...estimate, seconds, basis: "estimate", source: COMMAND }
      : estimate;
  };
  const load = command("apply", 120);
  // Rollback reads the rows for the preview, and then writes them.
  const rollback = 60 + (load.seconds ?? 0);
  const { staged, boots } = facts;
  const takeOver = stepOf("handover", facts);
  let [at, back] = [0, 0];
  const steps: NightStep[] = [];
  /** @param number of the step in the runbook @param more seconds for the rollback */
  const then = (number: number, step: WindowStep, more = 0): void => {
    const [seconds, name] = [step.seconds ?? 0, `${number}. ${step.name}`];
    back += more;
    steps.push({ ...step, name, seconds, begins: at, ends: at + seconds, back });
    at += seconds;
  };
  then(9, byHand("Open the window and close Nova's API", 120), 60);
  const on = hosts > 0 ? ` on ${counted(hosts, "host")}` : "";
  then(10, byHand(`Stop nova-compute${on}`, 120), BACK.services - 60);
  then(11, byHand("Copy the databases and the TFTP trees", 300));
  then(12, command("extract", 60));
  then(12, command("power", 60));
  then(12, command("plan", 60));
  then(13, command("check", 120));
  then(14, load, rollback);
  const boot = byHand("Run nova2ironic boot on each conductor's host", 300);
  if (boots && staged) then(15, boot, BACK.undo);
  // After the first takeover, a rollback must restore the TFTP trees.
  then(16, byHand("Start the conductors", 120), BACK.stopConductors + (staged ? 0 : BACK.trees));
  // The machine waits for a pass.
  const one = byHand("Hand over one machine and check it", 50 + facts.pace.interval);
  if (staged) then(17, one, BACK.undo + BACK.trees);
  const number = staged ? 17 : 16;
  then(number, staged ? takeOver : { ...takeOver, name: takeOver.name.replace("handover: ", "") });
  then(number, command("verify --takeover", 60));
  if (boots && !staged) then(17, boot, BACK.undo);
  then(18, byHand("Configure and restart nova-scheduler", 60));
  then(19, byHand("Configure the new nova-compute", 60));
  then(20, byHand("Start the new nova-compute and wait", 120), BACK.stopCompute);
  then(20, command("verify --final", 60));
  then(21, command("finish", 60), BACK.undo);
  then(21, byHand("Restore ironic.conf, close the window and open Nova's API", 120));
  return steps;
}

function byHand(name: string, seconds: number): WindowStep {
  const source = "estimate for the work by hand (manual: night)";
  return { name, by: "hand", seconds, basis: "estimate", source };
}

/** `02:00-05:00` in minutes after midnight. If it passes midnight, `to` is after 24:00. */
export function plannedWindow(text: string) {
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = text.split(/[:-]/).map(Number);
  const [from, to] = [hour * 60 + minute, toHour * 60 + toMinute];
  return { from, to: to > from ? to : to + DAY };
}

/** `04:41`, from seconds after the window's start, or before its end if they are negative. */
export function clock({ from, to }: PlannedWindow, seconds: number): string {
  // Rounded conservatively: steps end later, and the rollback starts earlier.
  const minutes = seconds < 0 ? to + Math.floor(seconds / 60) : from + Math.ceil(seconds / 60);
  const of = ((minutes % DAY) + DAY) % DAY;
  return [Math.floor(of / 60), of % 60].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Text about the duration of the migration, and the latest times for a rollback. */
export function nightText(steps: readonly NightStep[], window: PlannedWindow | null): string {
  const { ends: night = 0, back = 0 } = steps.at(-1) ?? {};
  const hand = steps.reduce((sum, { by, seconds }) => sum + (by === "hand" ? seconds : 0), 0);
  const takes = `The night takes ${duration(night)}, including ${duration(hand)} of manual work. A rollback from its last step takes ${duration(back)}.`;
  if (window === null)
    return `${takes} report --window FROM-TO shows the latest times to roll back.`;
  const length = (window.to - window.from) * 60;
  const span = `${clock(window, 0)}-${clock({ ...window, from: window.to }, 0)}`;
  const over = Math.ceil((night - length) / 60);
  const ends = `it ends at ${clock(window, night)}`;
  const when =
    over > 0
      ? `It does not fit into the window ${span}: ${ends}, ${counted(over, "minute")} late.`
      : `In the window ${span} ${ends}.`;
  if (back > length) return `${takes} ${when} The window is too short for a rollback.`;
  const late =
    night + back > length
      ? " The last steps end after that, so there is no time to roll them back."
      : "";
  return `${takes} ${when} Begin the rollback at ${clock(window, -back)} at the latest.${late}`;
}
