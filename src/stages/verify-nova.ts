import { choiceOf } from "../core/hosts/choice.ts";
import type { HypervisorsNow } from "../core/hosts/computes.ts";
import { ranSince } from "../core/hosts/running.ts";
import {
  compareNova,
  type Inspected,
  type NovaComparison,
  type NovaNow,
} from "../core/verify/nova.ts";
import { emptyNovaTally, type NovaTally } from "../core/verify/tally.ts";
import type { Used } from "../core/verify/used.ts";
import type { Database } from "../edge/database/open.ts";
import { committed } from "../edge/database/write.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { openComputes, openDeleted, openOnNodes, openPlaces } from "../edge/nova-write/by-node.ts";
import { openInstances } from "../edge/nova-write/instances.ts";
import { identifyNova } from "../edge/nova-write/open.ts";
import { createNovaTarget } from "../edge/nova-write/target.ts";
import { batchesOf, IRONIC } from "../model/journal.ts";
import type { NovaTarget } from "../model/nova-plan.ts";
import { regroup, TOGETHER } from "../model/streams.ts";
import { show } from "../model/text.ts";
import { NOVA_LEGS, type NovaLegName } from "../parts/nova.ts";
import { openAllocated, openProviders } from "./allocations.ts";
import { type Keep, openRole } from "./databases.ts";
import { type Reach, reopenFlavorApi } from "./flavor-api.ts";
import type { NovaFiles } from "./nova-files.ts";
import { checkNova } from "./nova-place.ts";

/** Compares Nova with a plan for it. */
export interface NovaVerifier {
  /** Whether a nova-compute of the plan ran since the load. */
  readonly ran: boolean;
  readonly tally: NovaTally;
  /** Gives what is not as planned, and the rest too where all is wanted. */
  readonly open: (how: { readonly all: boolean; readonly used: Used }) => Promise<NovaComparison>;
}

/** Where Nova is, and what is expected of it. */
interface NovaAsked extends Reach {
  readonly novaDb: string;
  readonly placementDb?: string;
  /** The operator's word: every nova-compute has started. */
  readonly final: boolean;
}

/**
 * Opens the Nova that a plan was made for.
 *
 * @throws MigrationError N2I-E202 and N2I-E300 when it is another, before anything is compared
 */
export async function openNovaVerifier(
  run: RunFolder,
  plan: NovaFiles,
  asked: NovaAsked,
  keep: Keep,
): Promise<NovaVerifier> {
  const readOnly = { readOnly: true };
  const database = keep(await openRole("nova-db", asked.novaDb, readOnly));
  const identity = await identifyNova(database);
  checkNova(plan.header.target, identity);
  const flavors = await reopenFlavorApi(plan.header.api, asked, true);
  if (flavors !== null) keep(flavors);
  await Promise.all([committed(database), flavors?.committed()]);
  const placement =
    asked.placementDb === undefined
      ? null
      : keep(await openRole("placement-db", asked.placementDb, readOnly));
  const target = createNovaTarget(database, identity);
  const api = flavors?.target ?? target;
  const beats = await target.beats(plan.counts.stopped);
  const ran = ranSince(beats, await secondsSinceLoad(run, plan.sha256));
  const expects: HypervisorsNow["expects"] = (host) => {
    if (host !== null && ran.has(host))
      return `nova-compute of ${show(host)} has reported since the load`;
    return asked.final ? "--final says that nova-compute runs" : null;
  };
  const tally = emptyNovaTally(placement !== null);
  return {
    ...{ ran: ran.size > 0, tally },
    async open(how) {
      const rows = inspected(plan, (leg) => (leg === "api" ? api : target));
      const now = { rows, ...(await novaNow(database, placement, plan, expects)) };
      return compareNova(now, choiceOf(plan.header.compute_hosts), tally, how);
    },
  };
}

/** Seconds since this plan's last batch was begun, by this machine's clock; null when none was. */
async function secondsSinceLoad(run: RunFolder, plan: string): Promise<number | null> {
  const { entries } = await readJournal(run);
  const begun = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan,
  );
  return begun !== undefined ? (Date.now() - Date.parse(begun.at)) / 1000 : null;
}

/** Every row that the plan changes. */
async function* inspected(
  plan: NovaFiles,
  target: (leg: NovaLegName) => Pick<NovaTarget, "inspect">,
): AsyncGenerator<readonly Inspected[]> {
  for (const leg of NOVA_LEGS)
    for await (const steps of regroup(plan.steps(leg), TOGETHER)) {
      const by = new Map(steps.map((step) => [step.id, step]));
      const states = await target(leg).inspect(steps);
      yield states.flatMap((state) => {
        const step = by.get(state.id);
        return step === undefined ? [] : [{ step, state }];
      });
    }
}

/** Readers of what Nova and Placement have of machines. */
async function novaNow(
  nova: Database,
  placement: Database | null,
  { header }: NovaFiles,
  expects: HypervisorsNow["expects"],
): Promise<Omit<NovaNow, "rows">> {
  const since = header.made_at.slice(0, 19).replace("T", " ");
  return {
    tenants: { instancesOf: openInstances(nova), onNodes: await openOnNodes(nova), nova },
    placesOf: await openPlaces(nova),
    hypervisors: {
      computesOf: await openComputes(nova),
      deletedOf: await openDeleted(nova, since),
      providersOf: placement && openProviders(nova, placement),
      expects,
    },
    allocatedOf: placement && openAllocated(placement),
  };
}
