import { begunAt, ownershipOf } from "../../engine/ownership.ts";
import { MigrationError } from "../../lib/error.ts";
import { TOGETHER } from "../../lib/streams.ts";
import { NAMED } from "../../lib/text.ts";
import { type Entries, IRONIC } from "../../model/journal.ts";
import type { Database } from "../../systems/database/open.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { openOnNodes } from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import type { MachinePlan } from "../apply/ironic.ts";
import type { Watching } from "./nova-watch.ts";
import { asked, checkQueued } from "./queued.ts";
import type { Choice } from "./rules/choice.ts";
import { accepted, changedTenants, type Placed, placedOf } from "./rules/current-placement.ts";

type Lines = MachinePlan["lines"];

/** Machines that a plan loads, as Nova is asked about them: its lines are parsed for it once. */
export interface Tenants {
  /** The plan's lines; once a pass over them is over, it need not be made again. */
  readonly lines: Lines;
  /** Those of the last pass, or of one of its own; they are given out once, as they take memory. */
  readonly take: () => Promise<Iterable<Placed>>;
}

export function tenantsOf(plan: Lines, choice: Choice): Tenants {
  let known: Iterable<Placed> | null = null;
  async function* lines(): ReturnType<Lines> {
    const placed: Placed[] = [];
    let from = 0;
    for await (const batch of plan()) {
      for (const [at, line] of batch.entries())
        if (line.verdict === "create") placed.push(placedOf(line, from + at, choice));
      from += batch.length;
      yield batch;
    }
    // A pass that was broken off has not seen every machine.
    known = placed;
  }
  return {
    lines,
    async take() {
      if (known === null) for await (const _ of lines());
      const taken = known ?? [];
      known = null;
      return taken;
    },
  };
}

/**
 * Looks for requests to the tenants of machines that are to be loaded; what the site document accepts
 * was emptied before the plan.
 *
 * @throws MigrationError N2I-E314
 */
export async function checkRequests(
  database: Database,
  machines: Iterable<Placed>,
  watching: Watching,
): Promise<void> {
  const instancesOf = openInstances(database);
  for (const batch of inPortions(machines, TOGETHER)) {
    const loading = batch.filter((one) => !accepted(one, "N2I-D243"));
    const rows = await instancesOf(loading.flatMap(({ instance }) => instance ?? []));
    await checkQueued(database, [...rows.values()].map(asked), watching);
  }
}

/**
 * Looks at the tenants of machines before the first of them is loaded. Those of a batch that was begun
 * before may have been handed over since, and changed by whom they belong to.
 *
 * @param sha256 of the plan, by which the journal knows it
 * @throws MigrationError N2I-E300 naming machines whose tenant came, went or moved since `extract`
 */
export async function checkTenants(
  entries: Entries,
  database: Database,
  machines: Iterable<Placed>,
  sha256: string,
): Promise<void> {
  const begun = begunAt(ownershipOf(entries, IRONIC, sha256));
  const now = {
    ...{ instancesOf: openInstances(database), onNodes: await openOnNodes(database) },
    nova: database,
  };
  const stale: string[] = [];
  let count = 0;
  const first = function* () {
    for (const batch of inPortions(machines, TOGETHER)) yield batch.filter(({ at }) => !begun(at));
  };
  for await (const what of changedTenants(first(), now)) {
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
