import { randomUUID } from "node:crypto";
import { startedChangesIn } from "../../engine/started.ts";
import { MigrationError } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Entries, Entry } from "../../model/journal.ts";
import { HOST_PARTS } from "../../model/nova/host-move.ts";
import type { RunSession } from "../../run/session.ts";
import { fenceLease, liftFence, readLeases } from "../leases/leases.ts";
import { leaseText } from "../rules/legacy.ts";
import { isLive } from "../rules/successors.ts";
import type { LegacyClients } from "./legacy-clients.ts";
import { LEGACY, movedMachines } from "./steps/legacy-started.ts";

/**
 * Fences the lease of a host that is confirmed as down, so that its agent cannot resume.
 *
 * @returns the number of fenced leases
 * @throws MigrationError N2I-E316 if the lease was renewed
 */
export async function fenceByHand(
  session: RunSession,
  { leases }: LegacyClients,
  host: string,
): Promise<number> {
  const [lease] = await readLeases(leases, host);
  if (lease?.fenced_by != null) return 0;
  if (isLive(lease) && lease !== undefined) throw new MigrationError("N2I-E316", leaseText(lease));
  const mark = `nova2ironic by hand, ${randomUUID()}`;
  const act = async (): Promise<void> => {
    if (lease !== undefined && !(await fenceLease(leases, lease, mark)))
      throw new MigrationError("N2I-E316", `the lease of ${host} has been renewed or fenced`);
  };
  await recorded(session, FENCED, host, act, lease === undefined ? {} : { mark });
  return lease === undefined ? 0 : 1;
}

/** @returns the number of lifted fences */
export async function liftByHand(
  { journal, now, by }: RunSession,
  { leases }: LegacyClients,
): Promise<number> {
  let lifted = 0;
  for (const [id, marks] of takenByHand(journal.entries())) {
    await journal.append({ do: "return", part: FENCED, id, at: now(), by });
    const [lease] = await readLeases(leases, id);
    // A fence that is lifted, or was set by another user, is not changed.
    const isOwned = lease?.fenced_by != null && marks.includes(lease.fenced_by);
    if (isOwned && (await liftFence(leases, lease))) lifted += 1;
    await journal.append({ do: "returned", part: FENCED, id, at: now() });
  }
  return lifted;
}

/** Journal name of hosts confirmed as down, with the fence of their lease if they have one. */
const FENCED = "host-lease-fence";

/** Journal name of hosts whose lease is no longer fenced. */
const LIFTED = "host-lease";

export function lifting(session: RunSession, host: string, act?: () => Promise<void>) {
  return recorded(session, LIFTED, host, act);
}

/** Acts between the entries of a start and an end. */
export async function recorded(
  { journal, now, by }: RunSession,
  part: string,
  id: string,
  act: () => Promise<void> = () => Promise.resolve(),
  observed?: JsonObject,
): Promise<void> {
  const more = observed && { observed };
  await journal.append({ do: "start", part, id, at: now(), by, ...more });
  await act();
  await journal.append({ do: "end", part, id, at: now() });
}

/** Hosts of unreverted takeovers by an operator, with the marks in their leases. */
export function takenByHand(entries: Entries): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...startedChangesIn(entries, FENCED)].map(([host, { observed }]) => [
      host,
      observed.flatMap(({ mark }) => (typeof mark === "string" ? [mark] : [])),
    ]),
  );
}

/** Whether this run readmitted the host, and moved nothing from it since. */
export function hasLifted(host: string, entries: Entries): boolean {
  return lastReadmission(host, entries)?.do === "end";
}

/**
 * The last entry of a host's readmission, unless a later move of its machines was started and not
 * rolled back. For Ironic, any later move counts.
 */
export function lastReadmission(host: string, entries: Entries): Entry | undefined {
  const isIts = (one: Entry): boolean => "id" in one && one.part === LIFTED && one.id === host;
  const at = entries.findLastIndex(isIts);
  const machines = movedMachines(entries).filter(({ move }) => move.from === host);
  const ids = new Set(machines.map(({ id }) => id));
  const moved = entries.findLastIndex(
    (entry) =>
      (entry.do === "start" && entry.part === LEGACY && ids.has(entry.id)) ||
      (entry.do === "begin" && HOST_PARTS.includes(entry.part)),
  );
  return at > moved ? entries.at(at) : undefined;
}
