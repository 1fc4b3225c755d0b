import { inspectBack } from "../../engine/back.ts";
import type { Excluded } from "../../engine/part.ts";
import type { Entries } from "../../model/journal.ts";
import type { NovaLegName, NovaStep, NovaTarget } from "../../model/nova/nova-plan.ts";
import type { UndoPreview } from "../../model/preview.ts";
import { openRole } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { novaJournalled, novaLeg, novaParts } from "../apply/nova.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import { BACK_AFTER_IRONIC } from "../order.ts";
import {
  changedHosts,
  type NovaScope,
  newComputesOf,
  type RollbackRequest,
  reasonForNew,
} from "./nova-back.ts";
import type { NovaFiles } from "./nova-files.ts";
import { checkNova } from "./nova-target.ts";

/**
 * Shows the effect of the same command line on Nova's rows, without rows that are already restored.
 * @param ironic shows Ironic's rows first, without excluded machines. Returns skipped machines
 * @throws MigrationError N2I-E300 if the plans were made for another nova
 */
export async function* previewNova(
  { run, entries, nova: scope, connection, removed }: RollbackRequest,
  ironic: (excluded: Excluded) => AsyncGenerator<UndoPreview, Excluded>,
): AsyncGenerator<UndoPreview> {
  const { novaDb } = connection;
  const database =
    scope === null || novaDb === undefined
      ? null
      : await openRole("nova-db", novaDb, { readOnly: true });
  try {
    const nova = database && (await openFor(database, scope?.plans ?? []));
    const excluded = scope && nova ? await changedHosts(nova, scope, entries) : new Map();
    const unchanged = yield* ironic(excluded);
    if (scope === null) return;
    const all = new Map([...excluded, ...unchanged]);
    yield* rowsOf(scope, entries, all, nova === null ? unopened : legsOf(nova, connection));
    for (const compute of database === null
      ? []
      : await newComputesOf(run, scope, database, removed)) {
      const { id, bm_node_id } = compute;
      const row = { action: "leave", resource: "compute_nodes", uuid: String(id) } as const;
      yield { ...row, bm_node_id, reason: reasonForNew(compute) };
    }
  } finally {
    await database?.close();
  }
}

async function openFor(database: Database, plans: readonly NovaFiles[]): Promise<NovaTarget> {
  const identity = await identifyNova(database);
  for (const { header } of plans) checkNova(header.target, identity);
  return createNovaTarget(database, identity);
}

/** A leg of a plan to inspect, and its `close`. */
type Opened = Parameters<typeof inspectBack<NovaStep, NovaStep>>[0] & {
  readonly close?: () => Promise<void>;
};

async function* rowsOf(
  scope: NovaScope,
  entries: Entries,
  excluded: Excluded,
  open: (name: NovaLegName, plan: NovaFiles) => Promise<Opened>,
): AsyncGenerator<UndoPreview> {
  for (const plan of scope.plans)
    for (const name of BACK_AFTER_IRONIC.flatMap(({ legs }) => legs)) {
      const leg = await open(name, plan);
      try {
        for await (const batch of inspectBack(leg, entries, scope, excluded))
          yield* batch.flatMap(({ change, state: { is, reason } }) =>
            is === "after" ? [] : [previewOf(change, is === "other" ? reason : null)],
          );
      } finally {
        await leg.close?.();
      }
    }
}

/** Without `--nova-db`, all rows stay. */
async function unopened(name: NovaLegName, plan: NovaFiles): Promise<Opened> {
  const state = { is: "other", reason: "--nova-db is not specified" } as const;
  const inspect = (steps: readonly NovaStep[]) =>
    Promise.resolve(steps.map(({ id }) => ({ id, ...state })));
  const leg = novaJournalled(name, plan);
  return { ...leg, part: { ...leg.part, inspect } };
}

function legsOf(nova: NovaTarget, connection: ConnectionOptions): typeof unopened {
  const parts = novaParts(nova, null);
  return async (name, plan) => {
    const api = name === "api" ? await reopenFlavorApi(plan.header.api, connection, true) : null;
    if (api === null) return novaLeg(parts[name], name, plan);
    return { ...novaLeg(novaParts(nova, api.target).api, "api", plan), close: api.close };
  };
}

/** @param reason the reason why it stays. Null if it is restored */
function previewOf({ table, id }: NovaStep, reason: string | null): UndoPreview {
  const action = reason === null ? "restore" : "leave";
  const uuid = id.slice(id.indexOf(":") + 1);
  return { action, resource: table, uuid, bm_node_id: null, reason };
}
