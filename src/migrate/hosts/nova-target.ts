import { ownedLines, type Scope } from "../../engine/back.ts";
import { MigrationError } from "../../lib/error.ts";
import { BATCH } from "../../lib/streams.ts";
import { listed, NAMES } from "../../lib/text.ts";
import type { SourceIdentity } from "../../model/artefact.ts";
import type { NovaFacts } from "../../model/check.ts";
import { differences } from "../../model/database.ts";
import type { Entries } from "../../model/journal.ts";
import type { NovaIdentity, NovaTarget } from "../../model/nova/nova-plan.ts";
import { requestText } from "../../model/nova/requests.ts";
import { nodeOf, type PlannedMachine } from "../../model/plan.ts";
import { failpoint } from "../../run/failpoint.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { now as moment, rest } from "../../run/process-context.ts";
import { openPlan } from "../../run/run.ts";
import type { RunSession } from "../../run/session.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { openLocations } from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import {
  mustReadRequests,
  REQUEST_TABLES,
  waitingRequests,
} from "../../systems/nova-db/requests.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { ironicJournalled } from "../apply/parts.ts";
import type { NovaFiles } from "./nova-files.ts";
import { instanceOn } from "./rules/current-placement.ts";
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

export type Removed = Awaited<ReturnType<typeof removalOf>>;

interface NovaOptions {
  readonly novaDb?: string;
  readonly leaveNova: boolean;
}

/** The nodes that a rollback removes. All plans and digests are checked before the first change. */
export async function removalOf(
  run: RunFolder,
  plans: readonly string[],
  entries: Entries,
  scope: Pick<Scope<PlannedMachine>, "selects">,
  { novaDb, leaveNova }: NovaOptions,
) {
  const machines: {
    readonly uuid: string;
    /** In nova_bm. */
    readonly host: string | null;
    /** The instance of its node. */
    readonly instance: string | null;
    /** An instance uses the node. When the node is deleted, Nova loses its records of the node. */
    readonly used: boolean;
  }[] = [];
  /** Nova in each plan that loaded some of them. Null if `extract` did not read nova. */
  const sources: SourceIdentity["nova"][] = [];
  for (const sha256 of plans) {
    const { header, lines } = await openPlan(await findPlan(run, sha256));
    if (leaveNova && novaDb === undefined) continue;
    const before = machines.length;
    const leg = ironicJournalled(header.target, { sha256, lines });
    for await (const batch of ownedLines(leg, entries, scope))
      for (const { line } of batch) {
        const { uuid, service_host: host } = line;
        if (uuid === null) continue;
        const node = nodeOf(line.records);
        // An instance deleted in Nova may still run.
        const used = typeof node?.instance_uuid === "string" || node?.provision_state === "active";
        machines.push({ uuid, host, instance: instanceOn(line), used });
      }
    if (machines.length > before) sources.push(header.source.nova);
  }
  return { machines, sources };
}

/** @throws MigrationError N2I-E311 if instances use nodes to be removed and nova is not watched */
export function checkExclusions({ machines }: Removed, { novaDb, leaveNova }: NovaOptions): void {
  const used = machines.filter((machine) => machine.used).length;
  if (novaDb !== undefined || leaveNova || used === 0) return;
  const text = `instances use ${used} of the nodes to be removed, and a running nova-compute would not be detected`;
  const fix = "Specify --nova-db, or stop every nova-compute yourself and use --leave-nova.";
  throw new MigrationError("N2I-E311", text, { fix });
}

/**
 * Watches the nova-computes of removed machines until they are confirmed to be stopped. A running one
 * deletes compute nodes and providers of missing nodes.
 * @param changed plans that changed Nova's rows
 * @throws MigrationError N2I-E310, N2I-E300 for another nova than the plan's
 * @source facts/rehearsal.md "first real nights"
 */
export async function watchRemoved(
  nova: Database,
  { identity, beats }: NovaTarget,
  { machines, sources }: Removed,
  changed: readonly NovaFiles[],
  watching: Watching & { readonly stopping: () => boolean },
) {
  for (const source of sources) {
    if (source === null) continue;
    const { engine, address, database, server } = source;
    // The schema may be a later one, because heartbeats are the same in every version.
    checkNova({ ...identity, engine, address, database, server }, identity);
  }
  const hosts = new Set(changed.flatMap(({ counts }) => counts.stopped));
  for (const { host } of machines) if (host !== null) hosts.add(host);
  const [computesOf, instancesOf] = [await openLocations(nova), openInstances(nova)];
  for (const some of inPortions(machines, BATCH)) {
    const instances = await instancesOf(some.flatMap(({ instance }) => instance ?? []));
    await checkQueued(nova, instances.values(), watching);
    const uuids = some.map(({ uuid }) => uuid);
    for (const computes of (await computesOf(uuids)).values())
      for (const { host } of computes) if (host !== null) hosts.add(host);
  }
  const watch = await watchComputes(beats, [...hosts].toSorted(), watching, watching.stopping);
  await watch.settle();
  return watch;
}
