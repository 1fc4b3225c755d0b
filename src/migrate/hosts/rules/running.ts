import { HEARTBEAT } from "../../../model/ironic/service.ts";
import type { HostBeat } from "../../../model/nova/nova-plan.ts";

/**
 * Which nova-computes run, in words: those that reported within a minute, and those whose row moved
 * between two looks. An age needs two clocks to agree and a look needs the time of a heartbeat, so
 * either is enough. A report from the future tells nothing but that clocks disagree.
 *
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
      ? [`${host} while it was watched (report_count is ${report_count} by now)`]
      : [];
  });
}

/** A report this close to a minute is worth the rest of it: seconds. */
const PATIENCE = 10;

/**
 * Seconds until the last of the reports is a minute old, when all that are younger nearly are; 0 when
 * there is nothing to wait for, or too long.
 */
export function restOfMinute(beats: readonly HostBeat[]): number {
  const young = beats.flatMap(({ age }) =>
    age !== null && Math.abs(age) < HEARTBEAT ? [age] : [],
  );
  if (young.length === 0 || Math.min(...young) < HEARTBEAT - PATIENCE) return 0;
  return HEARTBEAT - Math.min(...young);
}

/**
 * Whether Nova calls a service up by its age: from the future as from the past. Less than a minute ahead
 * is only clocks that differ.
 *
 * @param down seconds
 * @source nova@26.2.2:nova/servicegroup/drivers/db.py is_up
 */
export function isUp({ age }: Pick<HostBeat, "age">, down: number): boolean {
  return age !== null && age < down && -age < Math.max(down, HEARTBEAT);
}

/** Whether a service reported between two looks, or came. Other changes of its row are somebody else's. */
export function hasReported(
  was: Pick<HostBeat, "report_count" | "last_seen_up"> | undefined,
  now: Pick<HostBeat, "report_count" | "last_seen_up">,
): boolean {
  return was?.report_count !== now.report_count || was.last_seen_up !== now.last_seen_up;
}

/**
 * Hosts whose nova-compute ran since the load: those that report now, and those whose last report is
 * younger than it. Both ages are of one clock each, so clocks need not agree. Before Liberty the age
 * is that of the row, which somebody may have changed who disabled the service: it tells nothing.
 *
 * @param loaded seconds since the load; null: nothing was loaded
 */
export function ranSince(beats: readonly HostBeat[], loaded: number | null): ReadonlySet<string> {
  const ran = ({ age, last_seen_up }: HostBeat): boolean =>
    last_seen_up !== null &&
    age !== null &&
    (Math.abs(age) < HEARTBEAT || (loaded !== null && age >= 0 && age < loaded));
  return new Set(beats.filter(ran).map(({ host }) => host));
}
