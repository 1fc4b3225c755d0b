import { auditAllocations, heal } from "../../core/hosts/allocations.ts";
import { type Choice, choiceOf } from "../../core/hosts/choice.ts";
import { auditComputes, type HypervisorTally } from "../../core/hosts/computes.ts";
import { auditInstances } from "../../core/hosts/placed.ts";
import { ranSince } from "../../core/hosts/running.ts";
import { auditPlaces } from "../../core/hosts/strays.ts";
import { asUsed, isStepUsed, type Used } from "../../core/verify/used.ts";
import type { Database } from "../../edge/database/open.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { openComputes, openDeleted } from "../../edge/nova-write/computes.ts";
import { openInstances, openOnNodes } from "../../edge/nova-write/instances.ts";
import { identifyNova } from "../../edge/nova-write/open.ts";
import { openPlaces } from "../../edge/nova-write/places.ts";
import { createNovaTarget } from "../../edge/nova-write/target.ts";
import { batchesOf, IRONIC } from "../../model/journal.ts";
import type { Json } from "../../model/json.ts";
import type { NovaTarget, Standing } from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { regroup } from "../../model/streams.ts";
import { show } from "../../model/text.ts";
import { NOVA_LEGS, type NovaLegName } from "../../parts/nova.ts";
import { openRole } from "../../stages/databases.ts";
import { type FlavorApi, type FlavorApiOptions, reopenFlavorApi } from "../../stages/flavor-api.ts";
import type { NovaFiles } from "../../stages/nova-files.ts";
import { checkNova } from "../../stages/nova-place.ts";
import { openAllocated, openProviders } from "../../stages/providers.ts";
import { note, type Telling } from "./shared.ts";

/** Compares nova with a plan for it. */
export interface NovaVerifier {
  /** Whether a nova-compute of the plan ran since the load. */
  readonly ran: boolean;
  /** What is not as planned, and the rest too where all is wanted, as rows of `verify`'s one list. */
  readonly rows: (
    machines: () => AsyncIterable<readonly PlannedMachine[]>,
    all: boolean,
  ) => (used: Used) => AsyncIterable<readonly Json[]>;
  /** Once the rows went by: tells how many they were, and whether all is as planned. */
  readonly end: (format: Telling) => boolean;
  readonly close: () => Promise<void>;
}

/** Where Nova is, and what is expected of it. */
interface NovaLook extends FlavorApiOptions {
  readonly novaDb: string;
  readonly placementDb?: string;
  /** The operator's word: every nova-compute has started. */
  readonly final: boolean;
}

interface Count extends HypervisorTally, Record<Standing["is"], number> {
  machines: number;
  instances: number;
  /** Rows of the plan that the use of their machine explains. */
  used: number;
}

/**
 * Opens the nova a plan was made for.
 *
 * @throws MigrationError N2I-E202 and N2I-E300 when it is another, before anything is compared
 */
export async function openNovaVerifier(
  run: RunFolder,
  plan: NovaFiles,
  look: NovaLook,
): Promise<NovaVerifier> {
  const { compute_hosts: chosen } = plan.header;
  const database = await openRole("nova-db", look.novaDb, { readOnly: true });
  const opened: { readonly close: () => Promise<void> }[] = [database];
  const close = async (): Promise<void> => {
    for (const one of opened.toReversed()) await one.close();
  };
  try {
    const identity = await identifyNova(database);
    checkNova(plan.header.target, identity);
    const api: FlavorApi | null = await reopenFlavorApi(plan.header.api, look, true);
    if (api !== null) opened.push(api);
    const placement =
      look.placementDb === undefined
        ? null
        : await openRole("placement-db", look.placementDb, { readOnly: true });
    if (placement !== null) opened.push(placement);
    const target = createNovaTarget(database, identity);
    const looks: Now["looks"] = (leg) => (leg === "api" && api !== null ? api.target : target);
    const beats = await target.beats(plan.counts.stopped);
    const ran = ranSince(beats, await secondsSinceLoad(run, plan.sha256));
    const expects = (host: string | null): string | null => {
      if (host !== null && ran.has(host))
        return `nova-compute of ${show(host)} has reported since the load`;
      return look.final ? "--final says that nova-compute runs" : null;
    };
    const count: Count = {
      ...{ after: 0, before: 0, other: 0, machines: 0, instances: 0, used: 0 },
      ...{ hypervisors: 0, providers: 0, awaited: 0 },
    };
    return {
      ran: ran.size > 0,
      rows: (machines, all) => (used) =>
        verifyNova(plan, machines, { database, placement, looks, expects }, choiceOf(chosen), {
          ...{ all, count, used },
        }),
      end(format) {
        note(format, sentence(count, placement !== null));
        return count.before + count.other === 0;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function sentence(count: Count, placement: boolean): string {
  const { after, before, other, used, machines, instances, hypervisors, providers, awaited } =
    count;
  const compared = [
    ...[`${after + before + other + used} rows of the plan`, `${machines} machines`],
    ...[`${instances} instances`, `${hypervisors} hypervisors`],
    ...(placement ? [`${providers} resource providers`] : []),
  ];
  const later =
    awaited === 0
      ? ""
      : ` ${awaited} machines have no hypervisor of Ironic yet: no nova-compute has reported since the load. Run verify again once it runs, with --final.`;
  return `Verify of nova: ${compared.join(", ")} compared; ${before + other} mismatched${used > 0 ? `, ${used} changed by use since the hand-over` : ""}.${later}`;
}

/** Rows looked at in one statement. */
const LOOKED = 500;

/** Seconds since this plan's last batch was begun, by this machine's clock; null when none was. */
async function secondsSinceLoad(run: RunFolder, plan: string): Promise<number | null> {
  const { entries } = await readJournal(run);
  const begun = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan,
  );
  return begun !== undefined ? (Date.now() - Date.parse(begun.at)) / 1000 : null;
}

interface Now {
  readonly database: Database;
  readonly placement: Database | null;
  /** Where the rows of a leg are looked at. */
  readonly looks: (leg: NovaLegName) => Pick<NovaTarget, "look">;
  readonly expects: (host: string | null) => string | null;
}

/**
 * Compares every row of nova that the plan changes; and of each machine it loads, whether the plan
 * changes a row of it or not, its instance, its hypervisor and its resource provider.
 *
 * @param machines gives the plan's lines from the start, each time it is called
 */
async function* verifyNova(
  plan: NovaFiles,
  machines: () => AsyncIterable<readonly PlannedMachine[]>,
  { database, placement, looks, expects }: Now,
  choice: Choice,
  how: { readonly all: boolean; readonly count: Count; readonly used: Used },
): AsyncGenerator<readonly Json[]> {
  const { all, count, used } = how;
  /** Machines whose rows were told of already. */
  const known = new Set<string | null>();
  /** Compute nodes the plan itself deletes. */
  const ours = new Set<number>();
  for (const leg of NOVA_LEGS)
    for await (const steps of regroup(plan.steps(leg), LOOKED)) {
      const by = new Map(steps.map((step) => [step.id, step]));
      for (const { table, key, after } of steps)
        if (table === "compute_nodes" && after?.deleted !== 0) ours.add(Number(key.id));
      for (const standing of await looks(leg).look(steps)) {
        const { id, is, why, fields = [] } = standing;
        const step = by.get(id);
        const { machine = null, of = "" } = step ?? {};
        const since = step !== undefined && isStepUsed(step, standing, used);
        if (since) count.used += 1;
        else count[is] += 1;
        const wrong = is !== "after" && !since;
        if (wrong) known.add(machine);
        const state = wrong ? "mismatched" : since ? "used" : "validated";
        const details = is === "before" ? "as before the change" : why;
        const said = details === "" ? of : `${of}: ${details}`;
        if (wrong || all) yield [id, machine, null, state, fields.join(" "), said];
      }
    }
  const tenants = {
    ...{ instancesOf: openInstances(database), onNodes: await openOnNodes(database) },
    nova: database,
  };
  const mismatched = (resource: string, machine: string | null, fault: string) => {
    count.other += 1;
    return [resource, machine, null, "mismatched", "", fault];
  };
  const lines = asUsed(machines(), used);
  for await (const { machine, fault } of auditInstances(lines, tenants, choice, count))
    if (!known.has(machine)) yield mismatched("instances", machine, fault);
  const places = await openPlaces(database);
  for await (const { machine, fault } of auditPlaces(machines(), places, choice))
    if (!known.has(machine)) yield mismatched("compute nodes", machine, fault);
  const since = plan.header.made_at.slice(0, 19).replace("T", " ");
  const deleted = await openDeleted(database, since);
  const now = {
    computesOf: await openComputes(database),
    async deletedOf(uuids: readonly string[]) {
      const found = await deleted(uuids);
      return new Map([...found].map(([uuid, ids]) => [uuid, ids.filter((id) => !ours.has(id))]));
    },
    providersOf: placement === null ? null : openProviders(database, placement),
    expects,
  };
  for await (const { machine, fault } of auditComputes(machines(), now, choice, count))
    yield mismatched("compute nodes", machine, fault);
  if (placement === null) return;
  const placed = { instancesOf: tenants.instancesOf, allocatedOf: openAllocated(placement) };
  for await (const bare of auditAllocations(machines(), placed))
    yield mismatched(
      "allocations",
      bare.machine,
      `instance ${bare.instance} has no allocation; ${heal(bare.machine, bare.resource_class)}`,
    );
}
