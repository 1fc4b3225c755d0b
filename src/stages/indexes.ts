import { slowDelete, worthAnIndex } from "../core/plan/delete-cost.ts";
import { MigrationError } from "../model/error.ts";
import { indexesLeft } from "../model/journal.ts";
import type { Backend } from "./backend.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { surroundings } from "./surroundings.ts";

/**
 * Deletes with indexes where the server would read a table for each node: made for that time alone, each
 * journalled before, and dropped however the work ends. A process that dies leaves them to `dropLeft`.
 *
 * @param nodes that are to be deleted
 */
export async function withIndexes<T>(
  session: Pick<RunSession, "journal" | "now" | "by">,
  { indexes }: Pick<Backend, "indexes">,
  nodes: number,
  { say, result }: Pick<Sink, "say" | "result">,
  work: () => Promise<T>,
): Promise<T> {
  const { journal, now, by } = session;
  if (indexes === null) return work();
  // What it saves is time: what cannot be asked, or made, is no reason to stop.
  const keys = await indexes.scanned().catch((cause: unknown) => {
    unless("Keys without an index were not looked for")(cause);
    return [];
  });
  const slow = slowDelete(nodes, keys);
  if (slow !== null) result(`${slow.what} With an index it takes seconds: ${slow.fix}`);
  const ours = worthAnIndex(nodes, keys).filter((key) => key.ours);
  for (const key of ours) {
    const { index, table, column } = key;
    if ((await indexes.state(key).catch(() => "other")) !== "absent") {
      say(`No index on ${table}.${column}: ${index} is there, and is not this run's.`);
      continue;
    }
    const name = `${table}.${column}`;
    await journal.append({ do: "resource", kind: "index", mark: index, name, at: now(), by });
    say(`Making an index on ${table}.${column}; it is dropped afterwards.`);
    await indexes.create(key).catch(unless(`No index on ${table}.${column}`));
  }
  try {
    return await work();
  } finally {
    await dropLeft(session, { indexes });
  }
}

/** Drops what `withIndexes` made, now or in a process that died; what cannot be dropped is said, and tried again. */
export async function dropLeft(
  { journal, now }: Pick<RunSession, "journal" | "now">,
  { indexes }: Pick<Backend, "indexes">,
): Promise<void> {
  if (indexes === null) return;
  for (const place of indexesLeft(journal.entries())) {
    const { index } = place;
    try {
      await indexes.drop(place);
      await journal.append({ do: "gone", mark: index, at: now() });
    } catch (cause) {
      unless(`The index ${index} stays, until apply or rollback runs again`)(cause);
    }
  }
}

/** @throws what is no failure of the database's */
function unless(what: string): (cause: unknown) => void {
  return (cause) => {
    if (!(cause instanceof MigrationError)) throw cause;
    surroundings().tell(`${what}: ${cause.message}`);
  };
}
