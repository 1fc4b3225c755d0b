import { randomUUID } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import type { RunSession } from "../../run/session.ts";
import { fenceLease, liftFence, readLeases } from "../leases/leases.ts";
import { leaseText } from "../rules/legacy.ts";
import { isLive } from "../rules/successors.ts";
import { FENCED, takenByHand } from "./legacy-journal.ts";
import type { LegacyPlace } from "./legacy-place.ts";

/**
 * Fences the lease of a host that is confirmed as down, so that its agent cannot resume.
 *
 * @returns the number of fenced leases
 * @throws MigrationError N2I-E316 if the lease was renewed
 */
export async function fenceByHand(
  { journal, now, by }: Pick<RunSession, "journal" | "now" | "by">,
  { leases }: Pick<LegacyPlace, "leases">,
  host: string,
): Promise<number> {
  const [lease] = await readLeases(leases, host);
  if (lease?.fenced_by != null) return 0;
  if (isLive(lease) && lease !== undefined) throw new MigrationError("N2I-E316", leaseText(lease));
  const mark = `nova2ironic by hand, ${randomUUID()}`;
  const about = { part: FENCED, id: host };
  const observed = lease === undefined ? {} : { mark };
  await journal.append({ do: "start", ...about, at: now(), by, observed });
  if (lease !== undefined && !(await fenceLease(leases, lease, mark)))
    throw new MigrationError(
      "N2I-E316",
      `the lease of ${host} was renewed or fenced in the meantime`,
    );
  await journal.append({ do: "end", ...about, at: now() });
  return lease === undefined ? 0 : 1;
}

/** @returns the number of lifted fences */
export async function liftByHand(
  { journal, now, by }: Pick<RunSession, "journal" | "now" | "by">,
  { leases }: Pick<LegacyPlace, "leases">,
): Promise<number> {
  let lifted = 0;
  for (const [id, marks] of takenByHand(journal.entries())) {
    await journal.append({ do: "return", part: FENCED, id, at: now(), by });
    const [lease] = await readLeases(leases, id);
    // A fence by others, or a lifted one, is not changed.
    const isOurs = lease?.fenced_by != null && marks.includes(lease.fenced_by);
    if (isOurs && (await liftFence(leases, lease))) lifted += 1;
    await journal.append({ do: "returned", part: FENCED, id, at: now() });
  }
  return lifted;
}
