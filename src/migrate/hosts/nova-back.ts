import { changedSince, countBack, inspectBack, type Scope } from "../../engine/back.ts";
import { execute } from "../../engine/execute.ts";
import type { Excluded } from "../../engine/part.ts";
import { counted } from "../../lib/text.ts";
import type { SkippedRow, UndoPreview } from "../../model/change.ts";
import type { Entries } from "../../model/journal.ts";
import { NOVA_LEGS, type NovaStep, type NovaTarget } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { closing, type Keep, openRole } from "../../run/databases.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan } from "../../run/run.ts";
import type { RunSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import type { Database } from "../../systems/database/open.ts";
import { openLocations } from "../../systems/nova-db/by-node.ts";
import { novaJournalled, novaParts } from "../apply/parts.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import type { Backend } from "../open/backend.ts";
import { BACK_AFTER_IRONIC } from "../order.ts";
import type { NovaFiles } from "./nova-files.ts";
import {
  novaTargetOf,
  type Removed,
  type Watching,
  watchRemoved,
  withNovaLock,
} from "./nova-target.ts";
import { type NewCompute, newComputes } from "./rules/computes.ts";

interface NovaScope {
  /** Plans that changed rows, newest first. */
  readonly plans: readonly NovaFiles[];
  readonly all: boolean;
  readonly selects: (step: NovaStep) => boolean;
}

export interface RollbackRequest {
  readonly run: RunFolder;
  readonly entries: Entries;
  /** Plans of the run that loaded rows, newest first. */
  readonly plans: readonly string[];
  readonly scope: Scope<PlannedMachine>;
  /** Nova's rows. Null if the run changed none. */
  readonly nova: NovaScope | null;
  /** Null if the run has no rows in Ironic, or if its options are missing. */
  readonly backend: Backend | null;
  readonly connection: ConnectionOptions & { readonly keyFile?: string };
  readonly removal: Removed;
  readonly keep: Keep;
}

export interface Backing {
  readonly session: RunSession;
  /** Receives rows that stay unchanged. */
  readonly reportSkipped: (rows: readonly SkippedRow[]) => void;
  readonly sink: Sink;
}

type Stage = (typeof BACK_AFTER_IRONIC)[number];

interface NovaBack {
  /** Machines whose host rows changed after the load. */
  readonly changed: Excluded;
  /** Restores rows. Rows that stay unchanged are added to the list of conflicts. */
  readonly part: (
    stage: Stage,
    excluded: Excluded,
  ) => Promise<{ readonly done: number; readonly stopped: boolean }>;
}

/**
 * Opens nova during a rollback, locks it if its rows are restored, and watches the nova-computes.
 * @param work receives null without Nova's database or changed rows, and the check before each batch
 * @returns false if it was stopped during the watch
 */
export async function withNovaBack(
  request: RollbackRequest,
  backing: Backing,
  watching: Watching,
  work: (nova: NovaBack | null, inspect: () => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  const { nova: scope, connection, removal, keep } = request;
  const { session, sink } = backing;
  const { novaDb } = connection;
  const plans = scope?.plans ?? [];
  if (novaDb === undefined || removal.machines.length + plans.length === 0)
    return work(null, () => Promise.resolve());
  const database = keep(await openRole("nova-db", novaDb, { readOnly: scope === null }));
  const target = await novaTargetOf(database, plans);
  const how = { ...watching, stopping: () => session.signal.aborted };
  const { inspect } = await watchRemoved(database, target, removal, plans, how);
  if (session.signal.aborted) return false;
  if (scope === null) return work(null, inspect);
  return withNovaLock(session, target, async (check) => {
    const nova: NovaBack = {
      changed: await changedHosts(target, scope, session.journal.entries()),
      async part({ part, legs }, excluded) {
        await inspect();
        let done = 0;
        for (const plan of plans) {
          // The flavor API is opened only for its own rows.
          const api =
            part === "api" ? await reopenFlavorApi(plan.header.api, connection, false, keep) : null;
          const parts = novaParts(target, api?.target ?? null);
          const checks = { check, precondition: inspect };
          const all = legs.map((name) => ({
            ...novaJournalled(name, plan),
            ...{ part: parts[name], ...checks },
          }));
          const course = { direction: "back", only: scope, excluded } as const;
          const undone = await execute(all, session, course);
          const shared =
            undone.shared === 0 ? "" : `. ${undone.shared} shared rows remain until --all`;
          const rest = `${undone.skipped.length + undone.retained} left${shared}`;
          const rows = `${counted(undone.done, "row")} restored, ${undone.found} already restored`;
          sink.result(`Rollback of nova, ${part}: ${rows}, ${rest}.`);
          backing.reportSkipped(undone.skipped);
          done += undone.done;
          if (undone.stopped) return { done, stopped: true };
        }
        if (part === "hosts")
          reportNewComputes(await newComputesOf(request, scope, database), backing);
        return { done, stopped: false };
      },
    };
    return work(nova, async () => {
      // Nova's lock is idle during Ironic's part, so a loss is detected before each batch.
      await check();
      await inspect();
    });
  });
}

/**
 * Shows the effect of a rollback on Nova's rows, without rows that are already restored.
 * @param ironic shows Ironic's rows first, without excluded machines. Returns skipped machines
 * @throws MigrationError N2I-E300 if the plans were made for another nova
 */
export async function* previewNova(
  request: RollbackRequest,
  ironic: (excluded: Excluded) => AsyncGenerator<UndoPreview, Excluded>,
): AsyncGenerator<UndoPreview> {
  const { entries, nova: scope, connection, keep } = request;
  const { novaDb } = connection;
  const database =
    scope === null || novaDb === undefined
      ? null
      : keep(await openRole("nova-db", novaDb, { readOnly: true }));
  const target = database && (await novaTargetOf(database, scope?.plans ?? []));
  const changed = scope && target ? await changedHosts(target, scope, entries) : new Map();
  const excluded = new Map([...changed, ...(yield* ironic(changed))]);
  if (scope === null) return;
  const parts = target && novaParts(target, null);
  // Without `--nova-db`, all rows stay.
  const unopened = { is: "other", reason: "--nova-db is not specified" } as const;
  const inspect = async (steps: readonly NovaStep[]) =>
    steps.map(({ id }) => ({ id, ...unopened }));
  for (const plan of scope.plans) {
    const api = target && (await reopenFlavorApi(plan.header.api, connection, true, keep));
    for (const name of BACK_AFTER_IRONIC.flatMap(({ legs }) => legs)) {
      const leg = novaJournalled(name, plan);
      const open = api && name === "api" ? novaParts(target, api.target) : parts;
      const part = open === null ? { ...leg.part, inspect } : open[name];
      for await (const batch of inspectBack({ ...leg, part }, entries, scope, excluded))
        for (const { change, state } of batch.filter((one) => one.state.is !== "after"))
          yield {
            ...{ action: state.is === "other" ? "leave" : "restore", resource: change.table },
            ...{ uuid: change.id.slice(change.id.indexOf(":") + 1), bm_node_id: null },
            reason: state.is === "other" ? state.reason : null,
          };
    }
  }
  for (const compute of database === null ? [] : await newComputesOf(request, scope, database)) {
    const { id, bm_node_id } = compute;
    const row = { action: "leave", resource: "compute_nodes", uuid: String(id) } as const;
    yield { ...row, bm_node_id, reason: reasonForNew(compute) };
  }
}

/** Machines whose Nova host rows changed after the load. Their rows in Ironic also stay. */
async function changedHosts(
  nova: NovaTarget,
  scope: NovaScope,
  entries: Entries,
): Promise<Excluded> {
  const found = new Map<string, string>();
  const { hosts: part } = novaParts(nova, null);
  for (const plan of scope.plans) {
    const leg = { ...novaJournalled("hosts", plan), part };
    for (const [machine, text] of await changedSince(leg, entries, scope))
      found.set(machine, `in nova ${text}`);
  }
  return found;
}

/** Compute nodes that Nova created later do not belong to this run, so they are only reported. */
function reportNewComputes(added: readonly NewCompute[], { reportSkipped, sink }: Backing): void {
  if (added.length === 0) return;
  reportSkipped(added.map((row) => ({ id: `compute_nodes:${row.id}`, reason: reasonForNew(row) })));
  const ids = added.map(({ id }) => id).join(", ");
  const them = added.length === 1 ? "the node" : "the nodes";
  sink.result(
    `A nova-compute created ${counted(added.length, "new compute node")} since then. Stop the nova-compute, then delete ${them}: UPDATE compute_nodes SET deleted = id, deleted_at = CURRENT_TIMESTAMP WHERE id IN (${ids})`,
  );
}

function reasonForNew({ host, hypervisor_hostname }: NewCompute): string {
  return `created since by the nova-compute of ${host}, for ${hypervisor_hostname}`;
}

/** Compute nodes that Nova created later, of machines that are rolled back. */
async function newComputesOf(
  { run, scope }: RollbackRequest,
  { plans }: NovaScope,
  database: Database,
): Promise<readonly NewCompute[]> {
  const found = new Map<number, NewCompute>();
  const locationsOf = await openLocations(database);
  const planned = await plannedComputesOf(plans);
  for (const { sha256 } of plans) {
    const { lines } = await openPlan(await findPlan(run, sha256));
    for await (const batch of lines()) {
      const machines = batch.filter(scope.selects);
      for (const compute of await newComputes(machines, locationsOf, planned))
        if (!found.has(compute.id)) found.set(compute.id, compute);
    }
  }
  return [...found.values()];
}

/** Rows that one plan moved, which a later plan of the run finds in their new location. */
async function plannedComputesOf(plans: readonly NovaFiles[]) {
  const ids = new Set<number>();
  const machines = new Set<string>();
  for (const leg of plans.flatMap(({ steps }) => [steps("hosts"), steps("shared")]))
    for await (const batch of leg)
      for (const { table, key, machine } of batch) {
        if (table !== "compute_nodes") continue;
        ids.add(Number(key.id));
        if (machine !== null) machines.add(machine);
      }
  return { ids, machines };
}

/**
 * The number of Nova rows to roll back. Also checks that a separate flavor database can be opened.
 * @throws MigrationError N2I-E311, N2I-E300 and those of opening it
 */
export async function novaStepsBack(
  scope: NovaScope,
  entries: Entries,
  connection: ConnectionOptions,
): Promise<number> {
  let count = 0;
  for (const plan of scope.plans)
    for (const leg of NOVA_LEGS) {
      const legCount = await countBack(novaJournalled(leg, plan), entries, scope);
      count += legCount;
      if (legCount === 0 || leg !== "api" || connection.novaDb === undefined) continue;
      await closing((keep) => reopenFlavorApi(plan.header.api, connection, true, keep));
    }
  return count;
}
