import { ownedLines, type Scope } from "../../engine/back.ts";
import { MigrationError } from "../../lib/error.ts";
import { BATCH } from "../../lib/streams.ts";
import type { SourceIdentity } from "../../model/artefact.ts";
import type { Entries } from "../../model/journal.ts";
import type { NovaTarget } from "../../model/nova/nova-plan.ts";
import { nodeOf, type PlannedMachine } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan } from "../../run/run.ts";
import type { Database } from "../../systems/database/open.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { openLocations } from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { ironicJournalled } from "../apply/parts.ts";
import type { NovaFiles } from "./nova-files.ts";
import { checkNova, checkQueued, type Watching, watchComputes } from "./nova-target.ts";
import { instanceOn } from "./rules/current-placement.ts";

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
