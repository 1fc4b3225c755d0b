import { isObject } from "../../lib/json.ts";
import type { Entries } from "../../model/journal.ts";
import type { ComputeHost, LeftHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { LEGACY } from "./steps/legacy-begun.ts";

/** Includes hosts in the journal, because an agent's last plan may move nothing. */
export function leftHosts(
  { manifest }: Pick<MovePlan, "manifest">,
  entries: Entries,
): readonly LeftHost[] {
  const known = new Map(manifest.from.map((one) => [one.host, one]));
  for (const entry of entries) {
    const move =
      entry.do === "start" && entry.part === LEGACY && isObject(entry.observed)
        ? entry.observed.move
        : null;
    if (!isObject(move) || typeof move.from !== "string" || move.from === move.to) continue;
    const { from: host } = move;
    if (!known.has(host))
      known.set(host, { host, id: null, report_count: null, last_seen_up: null });
  }
  return [...known.values()];
}

export async function isAbout(
  host: string,
  plan: Pick<MovePlan, "manifest" | "lines">,
  entries: Entries,
): Promise<boolean> {
  if (leftHosts(plan, entries).some((one) => one.host === host)) return true;
  for await (const batch of plan.lines()) if (batch.some(({ from }) => from === host)) return true;
  return false;
}

/** An operator may have changed Nova's time of the last report, so callers watch the host. */
export function ranSinceFenced(
  { report_count }: LeftHost,
  service: ComputeHost | undefined,
  { age, fenced }: Lease,
): boolean {
  if (service === undefined) return false;
  if (report_count !== null && service.report_count !== report_count) return true;
  // Fenced by hand, without a time.
  if (fenced === null) return report_count === null;
  return age < fenced || (service.age !== null && service.age * 1000 < fenced);
}
