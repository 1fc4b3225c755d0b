import { BATCH, regroup } from "../../lib/streams.ts";
import { show } from "../../lib/text.ts";
import { batchesOf, IRONIC } from "../../model/journal.ts";
import { NOVA_LEGS, type NovaLegName, type NovaTarget } from "../../model/nova/nova-plan.ts";
import { type Keep, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { committed } from "../../systems/database/write.ts";
import {
  locationsIn,
  openComputes,
  openDeleted,
  openTenants,
} from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import { openAllocated, openProviders } from "../hosts/allocations.ts";
import type { NovaFiles } from "../hosts/nova-files.ts";
import { novaTargetOf } from "../hosts/nova-target.ts";
import { choiceOf } from "../hosts/rules/choice.ts";
import type { NovaNow } from "../hosts/rules/computes.ts";
import { ranSince } from "../hosts/rules/running.ts";
import { compareNova, type Inspected } from "./rules/nova.ts";
import { emptyNovaTally } from "./rules/tally.ts";
import type { Used } from "./rules/used.ts";

/** Location of Nova and expectations. */
interface NovaRequest extends ConnectionOptions {
  readonly novaDb: string;
  readonly placementDb?: string;
  /** The operator confirms that every nova-compute has started. */
  readonly final: boolean;
}

/**
 * Opens the Nova of a plan.
 * @throws MigrationError N2I-E202 and N2I-E300 for a different Nova, before the comparison
 */
export async function openNovaVerifier(
  run: RunFolder,
  plan: NovaFiles,
  request: NovaRequest,
  keep: Keep,
) {
  const readOnly = { readOnly: true };
  const database = keep(await openRole("nova-db", request.novaDb, readOnly));
  const target = await novaTargetOf(database, [plan]);
  const flavors = await reopenFlavorApi(plan.header.api, request, true, keep);
  await Promise.all([committed(database), flavors?.committed()]);
  const placement =
    request.placementDb === undefined
      ? null
      : keep(await openRole("placement-db", request.placementDb, readOnly));
  const api = flavors?.target ?? target;
  const beats = await target.beats(plan.counts.stopped);
  const ran = ranSince(beats, await secondsSinceLoad(run, plan.sha256));
  const tally = emptyNovaTally(placement !== null);
  const expects: NovaNow["expects"] = (host) => {
    if (host !== null && ran.has(host))
      return `nova-compute of ${show(host)} has reported since the load`;
    if (!request.final) return null;
    tally.unreported += 1;
    return "no nova-compute service reports this node";
  };
  return {
    /** Whether a nova-compute of the plan ran since the load. */
    ran: ran.size > 0,
    tally,
    /** Returns rows with differences, or all rows. */
    async open(how: { readonly all: boolean; readonly used: Used }) {
      const { made_at, compute_hosts } = plan.header;
      const since = made_at.slice(0, 19).replace("T", " ");
      const computesOf = await openComputes(database);
      const now = {
        rows: inspected(plan, (leg) => (leg === "api" ? api : target)),
        ...{ nova: database, instancesOf: openInstances(database), expects },
        onNodes: await openTenants(database),
        ...{ computesOf, locationsOf: locationsIn(computesOf) },
        deletedOf: await openDeleted(database, since),
        providersOf: placement && openProviders(database, placement),
        allocatedOf: placement && openAllocated(placement),
      };
      return compareNova(now, choiceOf(compute_hosts), tally, how);
    },
  };
}

/** Seconds since this plan's last batch began, by this host's clock. Null if none did. */
async function secondsSinceLoad(run: RunFolder, plan: string): Promise<number | null> {
  const { entries } = await readJournal(run);
  const lastBatch = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan,
  );
  return lastBatch !== undefined ? (Date.now() - Date.parse(lastBatch.at)) / 1000 : null;
}

/** Every row that the plan changes. */
async function* inspected(
  plan: NovaFiles,
  target: (leg: NovaLegName) => Pick<NovaTarget, "inspect">,
): AsyncGenerator<readonly Inspected[]> {
  for (const leg of NOVA_LEGS)
    for await (const steps of regroup(plan.steps(leg), BATCH)) {
      const by = new Map(steps.map((step) => [step.id, step]));
      const states = await target(leg).inspect(steps);
      yield states.flatMap((state) => {
        const step = by.get(state.id);
        return step === undefined ? [] : [{ step, state }];
      });
    }
}
