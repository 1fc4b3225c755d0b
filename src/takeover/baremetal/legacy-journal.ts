import { begunIn } from "../../engine/begun.ts";
import type { Entries, Entry } from "../../model/journal.ts";
import { HOST_PARTS } from "../../model/nova/host-move.ts";
import type { RunSession } from "../../run/session.ts";
import { LEGACY, stillMoved } from "./steps/legacy-begun.ts";

/** Journal's name of hosts that a person said are dead, with the fence of their lease where they have one. */
export const FENCED = "host-lease-fence";

/** Journal's name of hosts whose lease is not fenced any more. */
const LIFTED = "host-lease";

/** Writes down that a host comes back, before and after the act that lets it. */
export async function lifting(
  { journal, now, by }: Pick<RunSession, "journal" | "now" | "by">,
  id: string,
  act: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await journal.append({ do: "start", part: LIFTED, id, at: now(), by });
  await act();
  await journal.append({ do: "end", part: LIFTED, id, at: now() });
}

/** Hosts that a person took over in this run, and did not give back: host -> how its lease says that it is ours. */
export function takenByHand(entries: Entries): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...begunIn(entries, FENCED)].map(([host, { observed }]) => [
      host,
      observed.flatMap(({ mark }) => (typeof mark === "string" ? [mark] : [])),
    ]),
  );
}

/** Whether this run let a host have its lease again, and took nothing since. */
export function hasLifted(host: string, entries: Entries): boolean {
  return lastOf(host, entries)?.do === "end";
}

/** Whether it began to, and nothing says that it ended. */
export function isLifting(host: string, entries: Entries): boolean {
  return lastOf(host, entries)?.do === "start";
}

/**
 * The last entry of a host's way back, unless a machine of it was begun since, and is not given back; of machines of
 * Ironic, unless any was.
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
