import { type Lease, lasts } from "../../model/nova/leases.ts";

interface Judged {
  /** Hosts that expired at once, where they are too many to be believed: no other host is fenced then. */
  readonly alarm: readonly string[];
  /** Hosts that could expire: those that Nova knows and that are not fenced. */
  readonly of: number;
  /** Dead hosts: fenced already, or to be fenced. */
  readonly dead: readonly Lease[];
}

/** Nova's own word on its compute hosts. */
interface NovaWord {
  /** Hosts of live services. */
  readonly known: ReadonlySet<string>;
  /** Those of them that have not reported for longer than service_down_time. */
  readonly silent: ReadonlySet<string>;
}

/**
 * Finds the dead hosts: their lease has expired, and Nova agrees. If at least two hosts, and more than half of those
 * that are not fenced, expire at once, the cause is a wrong clock or a broken network, so no further host is fenced.
 * The takeover of a host that is fenced already continues.
 *
 * @source facts/systems.md A4
 */
export function judgeLeases(leases: readonly Lease[], { known, silent }: NovaWord): Judged {
  const unfenced = leases.filter(({ host, fenced_by }) => fenced_by === null && known.has(host));
  const expired = unfenced.filter((lease) => !lasts(lease));
  const alarm = expired.length > 1 && expired.length * 2 > unfenced.length;
  const dead = leases.filter(
    (lease) => silent.has(lease.host) && (lease.fenced_by !== null || !(alarm || lasts(lease))),
  );
  return { alarm: alarm ? expired.map(({ host }) => host) : [], of: unfenced.length, dead };
}

/** Whether a host may act on machines: its lease is its own, and lasts. */
export function isLive(lease: Lease | undefined): boolean {
  return lease !== undefined && lease.fenced_by === null && lasts(lease);
}

/**
 * Hosts that share a dead host's machines: they live, their agents take, Nova gives them work, and they are
 * in the same aggregates.
 *
 * @param fit hosts of services that report and that nobody disabled
 * @param aggregates null where nobody looked
 */
export function takersOf(
  from: string,
  leases: readonly Lease[],
  fit: ReadonlySet<string>,
  aggregates: ReadonlyMap<string, readonly number[]> | null,
): readonly string[] {
  const groups = (host: string): string =>
    (aggregates?.get(host) ?? []).toSorted((one, other) => one - other).join();
  const wanted = groups(from);
  return leases
    .filter((lease) => lease.takes === true && lease.host !== from && isLive(lease))
    .map(({ host }) => host)
    .filter((host) => fit.has(host) && groups(host) === wanted);
}
