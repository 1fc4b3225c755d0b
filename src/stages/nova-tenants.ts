import { choiceOf } from "../core/hosts/choice.ts";
import { accepted, instanceOn } from "../core/hosts/placed.ts";
import { changedTenants } from "../core/hosts/since.ts";
import type { Database } from "../edge/database/open.ts";
import { openOnNodes } from "../edge/nova-write/by-node.ts";
import { openInstances } from "../edge/nova-write/instances.ts";
import { ownershipOf, wasBegun } from "../engine/ownership.ts";
import { MigrationError } from "../model/error.ts";
import { type Entry, IRONIC } from "../model/journal.ts";
import type { NovaPlanHeader } from "../model/nova-plan.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { Watching } from "./nova-watch.ts";
import { asked, checkQueued } from "./queued.ts";

/** A plan's machines, and the digest by which the journal knows it. */
export interface Machines {
  readonly lines: () => AsyncIterable<readonly PlannedMachine[]>;
  readonly sha256: string;
}

/** Machines a message names; the others are counted. */
const NAMED = 5;

/**
 * Looks for requests to the tenants of machines that are to be loaded; what the site document accepts
 * was emptied before the plan.
 *
 * @throws MigrationError N2I-E314
 */
export async function checkRequests(
  database: Database,
  lines: Machines["lines"],
  watching: Watching,
): Promise<void> {
  const instancesOf = openInstances(database);
  for await (const batch of lines()) {
    const loading = batch.filter(
      (line) => line.verdict === "create" && !accepted(line, "N2I-D243"),
    );
    const rows = await instancesOf(loading.flatMap((line) => instanceOn(line) ?? []));
    await checkQueued(database, [...rows.values()].map(asked), watching);
  }
}

/**
 * Looks at the tenants of machines before the first of them is loaded. Those of a batch that was begun
 * before may have been handed over since, and changed by whom they belong to.
 *
 * @throws MigrationError N2I-E300 naming machines whose tenant came, went or moved since `extract`
 */
export async function checkTenants(
  entries: readonly Entry[],
  database: Database,
  { compute_hosts = [] }: NovaPlanHeader,
  { lines, sha256 }: Machines,
): Promise<void> {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  const loading = (at: number): boolean => !wasBegun(ownership, { from: at, to: at + 1 });
  const now = {
    ...{ instancesOf: openInstances(database), onNodes: await openOnNodes(database) },
    nova: database,
  };
  const stale: string[] = [];
  let count = 0;
  for await (const what of changedTenants(lines(), loading, now, choiceOf(compute_hosts))) {
    count += 1;
    if (stale.length < NAMED) stale.push(what);
  }
  if (count === 0) return;
  const more = count > NAMED ? ` and ${count - NAMED} more` : "";
  throw new MigrationError(
    "N2I-E300",
    `Nova's instances changed since extract: ${stale.join("; ")}${more}`,
    { fix: "Stop every nova-compute, extract again, then plan and look at the difference." },
  );
}
