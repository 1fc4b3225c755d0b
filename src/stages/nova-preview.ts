import type { Database } from "../edge/database/open.ts";
import { identifyNova } from "../edge/nova-write/open.ts";
import { createNovaTarget } from "../edge/nova-write/target.ts";
import { countBack, inspectBack } from "../engine/back.ts";
import type { Excluded } from "../engine/part.ts";
import type { Entry } from "../model/journal.ts";
import type { NovaStep, NovaTarget } from "../model/nova-plan.ts";
import type { UndoPreview } from "../model/preview.ts";
import { NOVA_LEGS, type NovaLegName, novaJournalled, novaLeg, novaParts } from "../parts/nova.ts";
import { openRole } from "./databases.ts";
import { type Reach, reopenFlavorApi } from "./flavor-api.ts";
import { changedHosts, type NovaWish, whyStray } from "./nova-back.ts";
import type { NovaFiles } from "./nova-files.ts";
import { checkNova } from "./nova-place.ts";
import { BACK_AFTER_IRONIC } from "./pipeline.ts";
import { straysOf } from "./strays.ts";
import type { Wanted } from "./take-back.ts";

/**
 * How many rows of Nova a rollback is to take back, by the journal, before any is. Where flavors are
 * elsewhere that place is opened: Ironic's rows must not be gone when it is found out of reach.
 *
 * @throws MigrationError N2I-E311, N2I-E300 and those of opening it
 */
export async function novaStepsBack(
  wish: NovaWish,
  entries: readonly Entry[],
  reach: Reach,
): Promise<number> {
  let count = 0;
  for (const plan of wish.plans)
    for (const leg of NOVA_LEGS) {
      const own = await countBack(novaJournalled(leg, plan), entries, wish);
      count += own;
      if (own === 0 || leg !== "api" || reach.novaDb === undefined) continue;
      const api = await reopenFlavorApi(plan.header.api, reach, true);
      await api?.close();
    }
  return count;
}

/** Nova's side of a preview. */
interface NovaPreview {
  /** Machines of which nothing is taken back, Ironic's rows neither. */
  readonly excluded: Excluded;
  /** Those that are so already are not told, as those of Ironic that are gone. */
  readonly rows: (excluded: Excluded) => AsyncIterable<UndoPreview>;
  readonly close: () => Promise<void>;
}

/**
 * What the same command line would do with Nova's rows, which are only read.
 *
 * @throws MigrationError N2I-E300 when the plans were made for another nova
 */
export async function openNovaPreview(wanted: Wanted, reach: Reach): Promise<NovaPreview | null> {
  const { nova: wish, entries } = wanted;
  if (wish === null) return null;
  if (reach.novaDb === undefined)
    return {
      excluded: new Map(),
      rows: (excluded) => rowsOf(wish, entries, excluded, unasked),
      close: () => Promise.resolve(),
    };
  const database = await openRole("nova-db", reach.novaDb, { readOnly: true });
  try {
    const nova = await openFor(database, wish.plans);
    return {
      excluded: await changedHosts(nova, wish, entries),
      async *rows(excluded) {
        yield* rowsOf(wish, entries, excluded, legsOf(nova, reach));
        for await (const stray of straysOf(wanted.run, wish.plans, database, wish.machines)) {
          const { id, bm_node_id } = stray;
          const row = { action: "leave", resource: "compute_nodes", uuid: String(id) } as const;
          yield { ...row, bm_node_id, why: whyStray(stray) };
        }
      },
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openFor(database: Database, plans: readonly NovaFiles[]): Promise<NovaTarget> {
  const identity = await identifyNova(database);
  for (const { header } of plans) checkNova(header.target, identity);
  return createNovaTarget(database, identity);
}

/** A leg of a plan to inspect, and what of it is to be closed again. */
type Opened = Pick<ReturnType<typeof novaLeg>, "plan" | "lines" | "changesOf"> & {
  readonly part: Parameters<typeof inspectBack<NovaStep, NovaStep>>[0]["part"];
  readonly close?: () => Promise<void>;
};

async function* rowsOf(
  wish: NovaWish,
  entries: readonly Entry[],
  excluded: Excluded,
  open: (name: NovaLegName, plan: NovaFiles) => Promise<Opened>,
): AsyncGenerator<UndoPreview> {
  for (const plan of wish.plans)
    for (const name of BACK_AFTER_IRONIC.flatMap(({ legs }) => legs)) {
      const leg = await open(name, plan);
      try {
        for await (const batch of inspectBack(leg, entries, wish, excluded))
          yield* batch.flatMap(({ change, state: { is, why } }) =>
            is === "after" ? [] : [shown(change, is === "other" ? why : null)],
          );
      } finally {
        await leg.close?.();
      }
    }
}

/** Nobody said where nova is: all of it stays. */
function unasked(name: NovaLegName, plan: NovaFiles): Promise<Opened> {
  const stays = { is: "other", why: "--nova-db is not given" } as const;
  const inspect = (steps: readonly NovaStep[]) =>
    Promise.resolve(steps.map(({ id }) => ({ id, ...stays })));
  const leg = novaJournalled(name, plan);
  return Promise.resolve({ ...leg, part: { ...leg.part, inspect } });
}

function legsOf(nova: NovaTarget, reach: Reach): typeof unasked {
  const parts = novaParts(nova, null);
  return async (name, plan) => {
    const api = name === "api" ? await reopenFlavorApi(plan.header.api, reach, true) : null;
    if (api === null) return novaLeg(parts[name], name, plan);
    return { ...novaLeg(novaParts(nova, api.target).api, "api", plan), close: api.close };
  };
}

/** @param why it is left; null: it is taken back */
function shown({ table, id }: NovaStep, why: string | null): UndoPreview {
  const action = why === null ? "restore" : "leave";
  const uuid = id.slice(id.indexOf(":") + 1);
  return { action, resource: table, uuid, bm_node_id: null, why };
}
