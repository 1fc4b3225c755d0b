import { changedSince, countBack, type Scope } from "../../engine/back.ts";
import { execute } from "../../engine/execute.ts";
import type { Excluded } from "../../engine/part.ts";
import { counted } from "../../lib/text.ts";
import type { SkippedRow } from "../../model/change.ts";
import type { Entries } from "../../model/journal.ts";
import { NOVA_LEGS, type NovaStep, type NovaTarget } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { closing, openRole } from "../../run/databases.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan } from "../../run/run.ts";
import type { RunSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import type { Database } from "../../systems/database/open.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { openComputeNodes } from "../../systems/nova-db/by-node.ts";
import { novaJournalled, novaLeg, novaParts } from "../apply/nova.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import type { Backend } from "../open/backend.ts";
import type { BACK_AFTER_IRONIC } from "../order.ts";
import type { Removed } from "./exclusions.ts";
import type { NovaFiles } from "./nova-files.ts";
import { novaLegOf, type Watching, withNova } from "./nova-target.ts";
import { type NewCompute, newComputes, type PlacedMachine } from "./rules/computes.ts";

/** The part of Nova's rows to roll back. */
export interface NovaScope {
  /** Plans that changed rows, newest first. */
  readonly plans: readonly NovaFiles[];
  readonly all: boolean;
  readonly selects: (step: NovaStep) => boolean;
  readonly machines: (machine: PlannedMachine) => boolean;
}

/** The part of a run to roll back, and its systems. */
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
  readonly removed: Pick<Removed, "placed">;
}

export interface Backing {
  readonly session: RunSession;
  /** Runs before each batch. If it throws, the batch does not start. */
  readonly inspect: () => Promise<void>;
  /** Receives rows that stay unchanged. */
  readonly reportSkipped: (rows: readonly SkippedRow[]) => void;
  readonly sink: Sink;
}

interface NovaBack {
  /** Waits until nova-compute is stopped. Returns machines whose Nova rows have changed. */
  readonly inspect: () => Promise<Excluded>;
  readonly check: () => Promise<void>;
  /** Restores rows. Rows that stay unchanged are added to the list of conflicts. */
  readonly part: (
    stage: (typeof BACK_AFTER_IRONIC)[number],
    excluded: Excluded,
  ) => Promise<{ readonly done: number; readonly stopped: boolean }>;
}

/** Opens nova during a rollback. Null without its database or changed rows. */
export function withNovaBack<T>(
  { run, nova: scope, connection, removed }: RollbackRequest,
  { session, reportSkipped: onSkipped, sink }: Backing,
  watching: Watching,
  work: (nova: NovaBack | null) => Promise<T>,
): Promise<T> {
  const { novaDb } = connection;
  if (scope === null || novaDb === undefined) return work(null);
  return closing(async (keep) => {
    const database = keep(await openRole("nova-db", novaDb, { readOnly: false }));
    return withNova(session, database, scope.plans, watching, (lockedNova) =>
      work({
        async inspect() {
          await lockedNova.watch.settle();
          return changedHosts(lockedNova.target, scope, session.journal.entries());
        },
        check: lockedNova.check,
        async part({ part, legs }, excluded) {
          await lockedNova.watch.inspect();
          let done = 0;
          for (const plan of scope.plans) {
            // The flavor API is opened only for its own rows.
            const api =
              part === "api" ? await reopenFlavorApi(plan.header.api, connection, false) : null;
            const parts = novaParts(lockedNova.target, api?.target ?? null);
            const walked = legs.map((name) => novaLegOf(lockedNova, parts, name, plan));
            const course = { direction: "back", only: scope, excluded } as const;
            const undone = await execute(walked, session, course).finally(() => api?.close());
            const shared =
              undone.shared === 0 ? "" : `. ${undone.shared} shared rows remain until --all`;
            sink.result(
              `Rollback of nova, ${part}: ${counted(undone.done, "row")} restored, ${undone.found} already restored, ${undone.skipped.length + undone.retained} left${shared}.`,
            );
            onSkipped(undone.skipped);
            done += undone.done;
            if (undone.stopped) return { done, stopped: true };
          }
          if (part === "hosts")
            reportNewComputes(await newComputesOf(run, scope, database, removed), onSkipped, sink);
          return { done, stopped: false };
        },
      }),
    );
  });
}

/** Machines whose Nova host rows changed after the load. Their rows in Ironic also stay. */
export async function changedHosts(
  nova: NovaTarget,
  scope: NovaScope,
  entries: Entries,
): Promise<Excluded> {
  const found = new Map<string, string>();
  const { hosts } = novaParts(nova, null);
  for (const plan of scope.plans)
    for (const [machine, text] of await changedSince(novaLeg(hosts, "hosts", plan), entries, scope))
      found.set(machine, `in nova ${text}`);
  return found;
}

/** Compute nodes that Nova created later do not belong to this run, so they are only reported. */
function reportNewComputes(
  added: readonly NewCompute[],
  reportSkipped: Backing["reportSkipped"],
  { result }: Sink,
): void {
  if (added.length === 0) return;
  reportSkipped(
    added.map((compute) => ({ id: `compute_nodes:${compute.id}`, reason: reasonForNew(compute) })),
  );
  const ids = added.map(({ id }) => id).join(", ");
  result(
    `A nova-compute created ${counted(added.length, "new compute node")} since then. Stop the nova-compute, then delete ${added.length === 1 ? "the node" : "the nodes"}: UPDATE compute_nodes SET deleted = id, deleted_at = CURRENT_TIMESTAMP WHERE id IN (${ids})`,
  );
}

export function reasonForNew({ host, hypervisor_hostname }: NewCompute): string {
  return `created since by the nova-compute of ${host}, for ${hypervisor_hostname}`;
}

/** Compute nodes that Nova created later, of machines that are rolled back. */
export async function newComputesOf(
  run: RunFolder,
  { plans, machines: selects }: NovaScope,
  database: Database,
  { placed }: RollbackRequest["removed"],
): Promise<readonly NewCompute[]> {
  const found = new Map<number, NewCompute>();
  const computesOf = await openComputeNodes(database);
  const planned = await plannedComputesOf(plans);
  for (const nova of plans) {
    const machines = async function* (): AsyncGenerator<readonly PlacedMachine[]> {
      const read = placed.get(nova.sha256);
      if (read !== undefined) return yield* inPortions(read);
      // A plan that loaded nothing was not read before.
      const plan = await openPlan(await findPlan(run, nova.sha256));
      for await (const batch of plan.lines()) yield batch.filter(selects);
    };
    for await (const compute of newComputes(machines(), computesOf, planned))
      if (!found.has(compute.id)) found.set(compute.id, compute);
  }
  return [...found.values()];
}

/** Rows that one plan moved, which a later plan of the run finds in their new location. */
async function plannedComputesOf(plans: readonly NovaFiles[]) {
  const ids = new Set<number>();
  const machines = new Set<string>();
  for (const nova of plans)
    for (const leg of ["hosts", "shared"] as const)
      for await (const batch of nova.steps(leg)) {
        const computes = batch.filter(({ table }) => table === "compute_nodes");
        for (const id of computes.map(({ key }) => key.id)) if (typeof id === "number") ids.add(id);
        for (const machine of computes.flatMap((step) => step.machine ?? [])) machines.add(machine);
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
      const api = await reopenFlavorApi(plan.header.api, connection, true);
      await api?.close();
    }
  return count;
}
