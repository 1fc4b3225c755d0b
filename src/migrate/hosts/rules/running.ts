import { HEARTBEAT } from "../../../model/ironic/service.ts";
import type { HostBeat } from "../../../model/nova/nova-plan.ts";

/**
 * Text about running nova-computes: reports within a minute, or between two reads. Ages need equal
 * clocks and reads need the time of a heartbeat, so either suffices. A report in the future only
 * shows that clocks differ.
 * @source facts/systems.md D R20, D-3
 */
export function runningComputes(
  before: readonly HostBeat[],
  now: readonly HostBeat[],
): readonly string[] {
  const earlier = new Map(before.map((beat) => [beat.id, beat]));
  return now.flatMap((beat) => {
    const { id, host, age, report_count } = beat;
    if (age !== null && Math.abs(age) < HEARTBEAT) return [`${host} ${age} s ago`];
    return hasReported(earlier.get(id), beat)
      ? [`${host} while it was watched (report_count is now ${report_count})`]
      : [];
  });
}

/** Wait for the rest of the minute only if at most this many seconds remain. */
const LAST_SECONDS = 10;

/** Seconds until the last report is a minute old, if that is soon. Otherwise 0. */
export function restOfMinute(beats: readonly HostBeat[]): number {
  const young = beats.flatMap(({ age }) =>
    age !== null && Math.abs(age) < HEARTBEAT ? [age] : [],
  );
  if (young.length === 0 || Math.min(...young) < HEARTBEAT - LAST_SECONDS) return 0;
  return HEARTBEAT - Math.min(...young);
}

/**
 * Whether Nova considers a service up. Less than a minute ahead only shows that clocks differ.
 * @param down seconds
 * @source nova@26.2.2:nova/servicegroup/drivers/db.py is_up
 */
export function isUp({ age }: Pick<HostBeat, "age">, down: number): boolean {
  return age !== null && age < down && -age < Math.max(down, HEARTBEAT);
}

/** Whether a service reported or appeared. Other changes of its row do not count. */
export function hasReported(
  was: Pick<HostBeat, "report_count" | "last_seen_up"> | undefined,
  now: Pick<HostBeat, "report_count" | "last_seen_up">,
): boolean {
  return was?.report_count !== now.report_count || was.last_seen_up !== now.last_seen_up;
}

/**
 * Hosts whose nova-compute ran since the load. Both ages are durations, so clocks need not agree.
 * Before Liberty, the age of a row also changes when a service is disabled, so it is ignored.
 * @param loaded seconds since the load. Null: nothing was loaded
 */
export function ranSince(beats: readonly HostBeat[], loaded: number | null): ReadonlySet<string> {
  const ran = ({ age, last_seen_up }: HostBeat): boolean =>
    last_seen_up !== null &&
    age !== null &&
    (Math.abs(age) < HEARTBEAT || (loaded !== null && age >= 0 && age < loaded));
  return new Set(beats.filter(ran).map(({ host }) => host));
}
