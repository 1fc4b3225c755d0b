import { counted, duration } from "../../../lib/text.ts";
import type { NightStep, WindowStep } from "./facts.ts";
import { type Forecast, stepOf } from "./window.ts";

/** The facts that determine the steps of the migration and their durations. */
interface NightFacts extends Forecast {
  readonly stopped: readonly string[];
  /** Whether takeover leaves boot files that need `boot`. */
  readonly boots: boolean;
  /** Whether machines can be staged. On Juno, a conductor takes machines over when it starts. */
  readonly staged: boolean;
}

/** A planned window in minutes after midnight. If it passes midnight, `to` is after 24:00. */
interface PlannedWindow {
  readonly from: number;
  readonly to: number;
}

const DAY = 24 * 60;
const HAND = "estimate for the work by hand (manual: night)";
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
  return { name, by: "hand", seconds, basis: "estimate", source: HAND };
}

/** Parses `02:00-05:00`. A window whose end is not after its start ends on the next day. */
export function plannedWindow(text: string): PlannedWindow {
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = text.split(/[:-]/).map(Number);
  const [from, to] = [hour * 60 + minute, toHour * 60 + toMinute];
  return { from, to: to > from ? to : to + DAY };
}

/** `04:41`, from seconds after the window's start, or before its end if they are negative. */
export function clock({ from, to }: PlannedWindow, seconds: number): string {
  // Rounded conservatively: steps end later, and the rollback starts earlier.
  const minutes = seconds < 0 ? to + Math.floor(seconds / 60) : from + Math.ceil(seconds / 60);
  const of = ((minutes % DAY) + DAY) % DAY;
  return `${pad(Math.floor(of / 60))}:${pad(of % 60)}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

/** Text about the duration of the migration, and the latest times for a rollback. */
export function nightText(steps: readonly NightStep[], window: PlannedWindow | null): string {
  const [night = 0, back = 0] = [steps.at(-1)?.ends, steps.at(-1)?.back];
  const hand = steps.reduce((sum, { by, seconds }) => sum + (by === "hand" ? seconds : 0), 0);
  const takes = `The night takes ${duration(night)}, including ${duration(hand)} of manual work. A rollback from its last step takes ${duration(back)}.`;
  if (window === null)
    return `${takes} report --window FROM-TO shows the latest times to roll back.`;
  const length = (window.to - window.from) * 60;
  const span = `${clock(window, 0)}-${clock({ ...window, from: window.to }, 0)}`;
  const over = Math.ceil((night - length) / 60);
  const ends = `ends at ${clock(window, night)}`;
  const when =
    over > 0
      ? `It does not fit into the window ${span}: it ${ends}, ${counted(over, "minute")} late.`
      : `In the window ${span} it ${ends}.`;
  if (back > length) return `${takes} ${when} The window is too short for a rollback.`;
  const last = `Begin the rollback at ${clock(window, -back)} at the latest.`;
  return night + back > length
    ? `${takes} ${when} ${last} The last steps end after that, so there is no time to roll them back.`
    : `${takes} ${when} ${last}`;
}
