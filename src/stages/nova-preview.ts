import type { Database } from "../edge/database/open.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { identifyNova } from "../edge/nova-write/open.ts";
import { createNovaTarget } from "../edge/nova-write/target.ts";
import { changedSince, countBack, inspectBack } from "../engine/back.ts";
import type { Excluded } from "../engine/part.ts";
import type { Entry } from "../model/journal.ts";
import type { Json } from "../model/json.ts";
import type { NovaStep, NovaTarget } from "../model/nova-plan.ts";
import { NOVA_LEGS, novaJournalled, novaLeg, novaParts } from "../parts/nova.ts";
import { openRole } from "./databases.ts";
import { type Reach, reopenFlavorApi } from "./flavor-api.ts";
import { type NovaWish, whyStray } from "./nova-back.ts";
import { type NovaFiles, novaPlans } from "./nova-files.ts";
import { checkNova } from "./nova-place.ts";
import { straysOf } from "./strays.ts";

/** The run's plans that changed Nova's rows, newest first, and its journal. */
async function changedPlans(
  run: RunFolder,
): Promise<{ readonly entries: readonly Entry[]; readonly plans: readonly NovaFiles[] }> {
  const { entries } = await readJournal(run);
  return { entries, plans: await novaPlans(run) };
}

/**
 * How many rows of Nova a rollback is to take back, by the journal, before any is. Where flavors are
 * elsewhere that place is opened: Ironic's rows must not be gone when it is found out of reach.
 *
 * @throws MigrationError N2I-E311, N2I-E300 and those of opening it
 */
export async function novaStepsBack(run: RunFolder, reach: Reach, wish: NovaWish): Promise<number> {
  const { entries, plans } = await changedPlans(run);
  let count = 0;
  for (const plan of plans)
    for (const leg of NOVA_LEGS) {
      const own = await countBack(novaJournalled(leg, plan), entries, wish);
      count += own;
      if (own === 0 || leg !== "api" || reach.novaDb === undefined) continue;
      const api = await reopenFlavorApi(plan.header.api, reach, true);
      await api?.close();
    }
  return count;
}

/** Machines of which nothing is taken back, Ironic's rows neither, as a row of Nova was changed since. */
export async function novaExcluded(
  run: RunFolder,
  { novaDb }: Reach,
  wish: NovaWish,
): Promise<Excluded> {
  const { entries, plans } = await changedPlans(run);
  const excluded = new Map<string, string>();
  if (plans.length === 0 || novaDb === undefined) return excluded;
  const database = await openRole("nova-db", novaDb, { readOnly: true });
  try {
    const nova = await openFor(database, plans);
    const parts = novaParts(nova, null);
    for (const plan of plans) {
      const leg = novaLeg(parts.hosts, "hosts", plan);
      for (const [machine, why] of await changedSince(leg, entries, wish))
        excluded.set(machine, `in nova ${why}`);
    }
    return excluded;
  } finally {
    await database.close();
  }
}

/** @throws MigrationError N2I-E300 when the plans were made for another nova */
async function openFor(database: Database, plans: readonly NovaFiles[]): Promise<NovaTarget> {
  const identity = await identifyNova(database);
  for (const { header } of plans) checkNova(header.target, identity);
  return createNovaTarget(database, identity);
}

/**
 * What the same command line would do with Nova's rows: a row of the preview each. Those that are so
 * already are not told, as those of Ironic that are gone.
 *
 * @param excluded machines of which nothing is taken back
 */
export async function* novaPreview(
  run: RunFolder,
  reach: Reach,
  wish: NovaWish,
  excluded: Excluded,
): AsyncGenerator<readonly Json[]> {
  const { entries, plans } = await changedPlans(run);
  if (plans.length === 0) return;
  const { novaDb } = reach;
  const database =
    novaDb === undefined ? null : await openRole("nova-db", novaDb, { readOnly: true });
  try {
    const nova = database && (await openFor(database, plans));
    const parts = nova && novaParts(nova, null);
    for (const plan of plans)
      for (const name of NOVA_LEGS) {
        const api =
          nova !== null && name === "api"
            ? await reopenFlavorApi(plan.header.api, reach, true)
            : null;
        try {
          const elsewhere = nova !== null && api !== null ? novaParts(nova, api.target) : parts;
          const leg =
            elsewhere === null ? unasked(name, plan) : novaLeg(elsewhere[name], name, plan);
          for await (const batch of inspectBack(leg, entries, wish, excluded))
            for (const { change, state } of batch) {
              const { is, why } = state;
              if (is === "other") yield shown("leave", change, why);
              else if (is !== "after") yield shown("restore", change, null);
            }
        } finally {
          await api?.close();
        }
      }
    if (database !== null) yield* strays(run, plans, database, wish);
  } finally {
    await database?.close();
  }
}

type Name = (typeof NOVA_LEGS)[number];

/** Nobody said where nova is: all of it stays. */
function unasked(name: Name, plan: NovaFiles) {
  const stays = { is: "other", why: "--nova-db is not given" } as const;
  const inspect = (steps: readonly NovaStep[]) =>
    Promise.resolve(steps.map(({ id }) => ({ id, ...stays })));
  const leg = novaJournalled(name, plan);
  return { ...leg, part: { ...leg.part, inspect } };
}

function shown(action: string, { table, id }: NovaStep, why: string | null): readonly Json[] {
  return [action, table, id.slice(id.indexOf(":") + 1), null, why];
}

async function* strays(
  run: RunFolder,
  plans: readonly NovaFiles[],
  database: Database,
  { machines }: NovaWish,
): AsyncGenerator<readonly Json[]> {
  for await (const stray of straysOf(run, plans, database, machines))
    yield ["leave", "compute_nodes", String(stray.id), stray.bm_node_id, whyStray(stray)];
}
