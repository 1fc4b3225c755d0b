import { type Lease, lasts } from "../../model/nova/leases.ts";

/** The destination is the same for all callers, and stable if a host is added or removed. */
export function destination(node: string, hosts: readonly string[]): string {
  const [first = ""] = hosts;
  let [best, most] = [first, -1];
  for (const host of hosts) {
    const weight = hashOf(`${host}\n${node.toLowerCase()}`);
    if (weight > most) [best, most] = [host, weight];
  }
  return best;
}

/** Each machine has one of the successors. */
export function shareOf(
  host: string,
  nodes: readonly string[],
  targets: readonly string[],
): readonly string[] {
  return targets.includes(host) ? nodes.filter((node) => destination(node, targets) === host) : [];
}

/** FNV-1a with murmur's finish, because similar names must not have similar weights. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Nova must agree with the expired lease. If at least two hosts, and more than half of the unfenced
 * ones, expire at once, a clock or the network is wrong, so no further host is fenced. Takeovers of
 * fenced hosts continue.
 *
 * @param live hosts of live services
 * @param silent hosts without a report for longer than service_down_time
 * @source facts/systems.md A4
 */
export function judgeLeases(
  leases: readonly Lease[],
  { live, silent }: Record<"live" | "silent", ReadonlySet<string>>,
) {
  const unfenced = leases.filter(({ host, fenced_by }) => fenced_by === null && live.has(host));
  const expired = unfenced.filter((lease) => !lasts(lease));
  const alarm = expired.length > 1 && expired.length * 2 > unfenced.length;
  const dead = leases.filter(
    (lease) => silent.has(lease.host) && (lease.fenced_by !== null || !(alarm || lasts(lease))),
  );
  return {
    /** Expired hosts if they are too many to be plausible. No further host is fenced then. */
    alarm: alarm ? expired.map(({ host }) => host) : [],
    /** The number of hosts that Nova knows and that are not fenced. */
    of: unfenced.length,
    /** Dead hosts: fenced already, or to be fenced. */
    dead,
  };
}

export function isLive(lease: Lease | undefined): boolean {
  return lease !== undefined && lease.fenced_by === null && lasts(lease);
}

/**
 * Hosts that are up and enabled in Nova, have agents that take over, and share the aggregates.
 *
 * @param fit hosts whose services report and are enabled
 * @param aggregates null: not read
 */
export function successorsOf(
  from: string,
  leases: readonly Lease[],
  fit: ReadonlySet<string>,
  aggregates: ReadonlyMap<string, readonly number[]> | null,
): readonly string[] {
  const groups = (host: string): string =>
    (aggregates?.get(host) ?? []).toSorted((one, other) => one - other).join();
  const expected = groups(from);
  return leases
    .filter((lease) => lease.takes === true && lease.host !== from && isLive(lease))
    .map(({ host }) => host)
    .filter((host) => fit.has(host) && groups(host) === expected);
}
