import { begunIn } from "../../engine/begun.ts";
import type { Entries, Entry } from "../../model/journal.ts";
import { HOST_PARTS } from "../../model/nova/host-move.ts";
import type { RunSession } from "../../run/session.ts";
import { LEGACY, stillMoved } from "./steps/legacy-begun.ts";

/** Journal name of hosts confirmed as down, with the fence of their lease if they have one. */
export const FENCED = "host-lease-fence";

/** Journal name of hosts whose lease is no longer fenced. */
const LIFTED = "host-lease";

export async function lifting(
  { journal, now, by }: Pick<RunSession, "journal" | "now" | "by">,
  id: string,
  act: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await journal.append({ do: "start", part: LIFTED, id, at: now(), by });
  await act();
  await journal.append({ do: "end", part: LIFTED, id, at: now() });
}

/** Hosts of unreverted takeovers by an operator, with the marks in their leases. */
export function takenByHand(entries: Entries): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...begunIn(entries, FENCED)].map(([host, { observed }]) => [
      host,
      observed.flatMap(({ mark }) => (typeof mark === "string" ? [mark] : [])),
    ]),
  );
}

/** Whether this run readmitted the host, and moved nothing from it since. */
export function hasLifted(host: string, entries: Entries): boolean {
  return lastOf(host, entries)?.do === "end";
}

/** Whether the last readmission has no end in the journal. */
export function isLifting(host: string, entries: Entries): boolean {
  return lastOf(host, entries)?.do === "start";
}

/**
 * The last entry of a host's readmission, unless a later move of its machines was started and not
 * rolled back. For Ironic, any later move counts.
 */
function lastOf(host: string, entries: Entries): Entry | undefined {
  const isIts = (entry: Entry): boolean =>
    "id" in entry && entry.part === LIFTED && entry.id === host;
  const at = entries.findLastIndex(isIts);
  const own = stillMoved(entries).filter(({ move }) => move.from === host);
  const ids = new Set(own.map(({ id }) => id));
  const moved = entries.findLastIndex(
    (entry) =>
      (entry.do === "start" && entry.part === LEGACY && ids.has(entry.id)) ||
      (entry.do === "begin" && HOST_PARTS.includes(entry.part)),
  );
  return at > moved ? entries.at(at) : undefined;
}
