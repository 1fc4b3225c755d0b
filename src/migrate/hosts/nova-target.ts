import { MigrationError } from "../../lib/error.ts";
import { listed, NAMES } from "../../lib/text.ts";
import type { NovaFacts } from "../../model/check.ts";
import { differences } from "../../model/database.ts";
import type { NovaIdentity, NovaTarget } from "../../model/nova/nova-plan.ts";
import { requestText } from "../../model/nova/requests.ts";
import { failpoint } from "../../run/failpoint.ts";
import { now as moment, rest } from "../../run/process-context.ts";
import type { RunSession } from "../../run/session.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import {
  mustReadRequests,
  REQUEST_TABLES,
  waitingRequests,
} from "../../systems/nova-db/requests.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import type { NovaFiles } from "./nova-files.ts";
import { restOfMinute, runningComputes } from "./rules/running.ts";

/** @throws MigrationError N2I-E300 with the differences */
export function checkNova(planned: NovaIdentity, found: NovaIdentity, what = "another nova"): void {
  const changed = differences(planned, found, ["schema_version", "head"]);
  if (changed.length > 0)
    throw new MigrationError("N2I-E300", `the plan was made for ${what}: ${changed.join("; ")}`);
}

/** @throws MigrationError N2I-E300 if it is not the nova of the plans */
export async function novaTargetOf(
  database: Database,
  plans: readonly Pick<NovaFiles, "header">[],
): Promise<NovaTarget> {
  const identity = await identifyNova(database);
  for (const { header } of plans) checkNova(header.target, identity);
  return createNovaTarget(database, identity, failpoint);
}

/** Locks nova during `work`, which receives the check of the lock. */
export async function withNovaLock<T>(
  session: RunSession,
  { identity, lock }: NovaTarget,
  work: (check: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { check, release } = await lock();
  try {
    await session.begin("nova", identity);
    return await work(check);
  } finally {
    await release();
  }
}

/** Marks a failure in one database that happened after the other was changed. */
export function afterNova(cause: unknown, what: string): unknown {
  if (!(cause instanceof MigrationError) || cause.code === "N2I-E301") return cause;
  return new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, { cause });
}

export interface Watching {
  readonly seconds: number;
  /** The operator allows a running nova-compute. */
  readonly allowed: boolean;
  /** The operator accepts requests that are left in a message queue. */
  readonly queued?: boolean;
  readonly report: (text: string) => void;
}

/** Milliseconds between two checks. */
const PACE = 500;

/** Checks when opened, and then detects each report. @throws MigrationError N2I-E310 */
export async function watchComputes(
  beats: NovaTarget["beats"],
  hosts: readonly string[],
  { seconds, allowed, report }: Watching,
  stopping: () => boolean,
) {
  const first = await beats(hosts);
  if (hosts.length > 0 && first.length === 0)
    report(
      `Warning: nova has no nova-compute on ${listed(hosts, NAMES)}, so no heartbeat is watched.`,
    );
  const end = moment() + seconds * 1000;
  const check = async (now: typeof first): Promise<void> => {
    const running = runningComputes(first, now);
    if (running.length === 0) return;
    const text = `nova-compute reported from ${listed(running, NAMES)}`;
    if (!allowed) throw new MigrationError("N2I-E310", text);
    if (now === first) report(`Warning: ${text}`);
  };
  const inspect = async (): Promise<void> => check(await beats(hosts));
  const waitUntil = async (time: number, each?: () => Promise<void>): Promise<void> => {
    for (; moment() < time && !stopping(); await each?.())
      await rest(Math.max(0, Math.min(PACE, time - moment())));
  };
  // Waits for the rest of a minute, in case the last report was final.
  const delay = allowed ? 0 : restOfMinute(first);
  if (delay > 0) {
    report(`A nova-compute reported nearly a minute ago: waiting ${delay} s for another report.`);
    await waitUntil(moment() + delay * 1000);
    await inspect();
  } else await check(first);
  return {
    /** @throws MigrationError N2I-E310 naming hosts and their last reports */
    inspect,
    /** Checks repeatedly until the watch time is over, counted from the opening. */
    async settle(): Promise<void> {
      if (!allowed && first.length > 0 && moment() < end) {
        report(`Watching heartbeats of nova-compute for ${seconds} s.`);
        await waitUntil(end, inspect);
      }
      await inspect();
    },
  };
}

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
