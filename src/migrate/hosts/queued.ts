import { MigrationError } from "../../lib/error.ts";
import { NAMES } from "../../lib/text.ts";
import type { NovaFacts } from "../../model/check.ts";
import { requestText } from "../../model/nova/requests.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { inPortions } from "../../systems/database/rows.ts";
import {
  mustReadRequests,
  REQUEST_TABLES,
  waitingRequests,
} from "../../systems/nova-db/requests.ts";
import type { Watching } from "./nova-target.ts";

interface QueuedInstance {
  readonly uuid: string;
  readonly host: string | null;
  readonly deleted: number | boolean | null;
}

/** Text of requests to live instances that are queued for their nova-compute. */
export async function readQueued(
  database: Database,
  instances: Iterable<QueuedInstance>,
): Promise<NovaFacts["queued"]> {
  const queued: NovaFacts["queued"][number][] = [];
  for (const some of inPortions(instances)) {
    const live = some.filter(({ deleted }) => !deleted);
    const waiting = await waitingRequests(database, live);
    for (const { uuid, host } of live)
      for (const request of waiting.get(uuid.toLowerCase()) ?? [])
        queued.push({ instance: uuid, text: requestText(request, host ?? "") });
  }
  return queued;
}

/** MySQL and MariaDB hide tables without a grant. A query by name shows the missing grant. */
export async function unreadQueues(database: Database): Promise<NovaFacts["unqueued"]> {
  const privileges = new Map(REQUEST_TABLES.map((table) => [table, new Set(["SELECT"] as const)]));
  const { statements, grants } = await ungranted(database, privileges);
  if (statements.length === 0) return null;
  return { tables: statements.map((statement) => statement.replace("SELECT ", "")), grants };
}

/**
 * Checks the queues before rows change, because a nova-compute that starts executes its queue.
 * @throws MigrationError N2I-E314 naming instances and the command that purges the queue, or N2I-E206
 * if the queues cannot be read
 */
export async function checkQueued(
  database: Database,
  instances: Iterable<QueuedInstance>,
  { queued = false, report }: Pick<Watching, "queued" | "report">,
): Promise<void> {
  await mustReadRequests(database);
  const found = await readQueued(database, instances);
  if (found.length === 0) return;
  const first = found.slice(0, NAMES).map(({ instance, text }) => `instance ${instance}: ${text}`);
  const more = found.length > NAMES ? `; and ${found.length - NAMES} more` : "";
  const text = `${first.join("; ")}${more}`;
  if (!queued) throw new MigrationError("N2I-E314", text);
  report(`Warning: ${text}`);
}
