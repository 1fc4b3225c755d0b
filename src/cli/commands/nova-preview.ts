import { waiting } from "../../core/apply/shared-rows.ts";
import type { Database } from "../../edge/database/open.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { identifyNova } from "../../edge/nova-write/open.ts";
import { createNovaTarget } from "../../edge/nova-write/target.ts";
import type { Json } from "../../model/json.ts";
import { NOVA_PARTS, type NovaStep, type NovaTarget } from "../../model/nova-plan.ts";
import { openRole } from "../wire/databases.ts";
import { type FlavorApiOptions, reopenFlavorApi } from "../wire/flavor-api.ts";
import { checkNova, openNovaPlan, readNovaJournal, withApi } from "../wire/nova-acting.ts";
import { changedSince, type Staying, undoing } from "../wire/nova-undoing.ts";
import { straysOf } from "../wire/strays.ts";
import { type NovaWish, whyStray } from "./nova-back.ts";

/** Where Nova's rows are, as the command line says it. */
export type Reach = FlavorApiOptions & { readonly novaDb?: string };

/**
 * How many rows of Nova a rollback is to take back, by the journal, before any is. Where flavors are
 * elsewhere that place is opened: Ironic's rows must not be gone when it is found out of reach.
 *
 * @throws MigrationError N2I-E311, N2I-E300 and those of opening it
 */
export async function novaStepsBack(
  run: RunFolder,
  reach: Reach,
  { wants }: NovaWish,
): Promise<number> {
  const { entries, plans } = await readNovaJournal(run);
  let count = 0;
  for (const sha256 of plans) {
    const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
    for (const part of NOVA_PARTS) {
      let own = 0;
      for await (const steps of undoing(plan, entries, part, wants)) own += steps.length;
      count += own;
      if (own === 0 || part !== "api" || reach.novaDb === undefined) continue;
      const api = await reopenFlavorApi(plan.header.api, reach, true);
      await api?.close();
    }
  }
  return count;
}

/** Machines of which nothing is taken back, Ironic's rows neither, as a row of Nova was changed since. */
export async function novaStaying(
  run: RunFolder,
  { novaDb }: Reach,
  { wants }: NovaWish,
): Promise<Staying> {
  const { entries, plans } = await readNovaJournal(run);
  const staying = new Map<string, string>();
  if (plans.length === 0 || novaDb === undefined) return staying;
  const database = await openRole("nova-db", novaDb, { readOnly: true });
  try {
    const identity = await identifyNova(database);
    const nova = createNovaTarget(database, identity);
    for (const sha256 of plans) {
      const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
      checkNova(plan.header.target, identity);
      for (const [machine, why] of await changedSince(plan, entries, wants, nova))
        staying.set(machine, why);
    }
    return staying;
  } finally {
    await database.close();
  }
}

/**
 * What the same command line would do with Nova's rows: a row of the preview each.
 *
 * @param staying machines of which nothing is taken back
 */
export async function* novaPreview(
  run: RunFolder,
  reach: Reach,
  wish: NovaWish,
  staying: Staying,
): AsyncGenerator<readonly Json[]> {
  const { entries, plans } = await readNovaJournal(run);
  if (plans.length === 0) return;
  const { novaDb } = reach;
  const database =
    novaDb === undefined ? null : await openRole("nova-db", novaDb, { readOnly: true });
  try {
    for (const sha256 of plans) {
      const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
      const identity = database && (await identifyNova(database));
      if (identity !== null) checkNova(plan.header.target, identity);
      const nova = database && identity && createNovaTarget(database, identity);
      for (const part of NOVA_PARTS) {
        const batches = undoing(plan, entries, part, wish.wants);
        if (nova === null) yield* leaving(batches);
        else {
          const api = part === "api" ? await reopenFlavorApi(plan.header.api, reach, true) : null;
          try {
            yield* looking(batches, withApi(nova, api), part === "hosts" ? staying : NOBODY);
          } finally {
            await api?.close();
          }
        }
      }
    }
    if (database !== null) yield* strays(run, database, wish);
  } finally {
    await database?.close();
  }
}

const NOBODY: Staying = new Map();

async function* leaving(
  batches: AsyncIterable<readonly NovaStep[]>,
): AsyncGenerator<readonly Json[]> {
  for await (const steps of batches)
    for (const step of steps) yield shown("leave", step, "--nova-db is not given");
}

/** Rows that are so already are not told, as those of Ironic that are gone. */
async function* looking(
  batches: AsyncIterable<readonly NovaStep[]>,
  target: NovaTarget,
  staying: Staying,
): AsyncGenerator<readonly Json[]> {
  const going = new Map<string, number>();
  const later: NovaTarget["use"] = async (hosts) =>
    new Map(
      [...(await target.use(hosts))].map(([host, { instances, computes }]) => [
        host,
        { instances: instances - (going.get(host) ?? 0), computes },
      ]),
    );
  for await (const steps of batches) {
    const stands = new Map((await target.look(steps)).map((one) => [one.id, one]));
    const waits = await waiting(steps, "back", later);
    for (const step of steps) {
      const { is, why } = stands.get(step.id) ?? { is: "after", why: "" };
      if (is === "after") continue;
      const machine = staying.get(step.machine ?? "") ?? null;
      const stays = waits.get(step.id) ?? (is === "other" ? why : machine);
      if (stays === null && step.table === "instances") {
        const host = String(step.before?.host);
        going.set(host, (going.get(host) ?? 0) + 1);
      }
      yield stays === null ? shown("restore", step, null) : shown("leave", step, stays);
    }
  }
}

function shown(action: string, { table, id }: NovaStep, why: string | null): readonly Json[] {
  return [action, table, id.slice(id.indexOf(":") + 1), null, why];
}

async function* strays(
  run: RunFolder,
  database: Database,
  { machines }: NovaWish,
): AsyncGenerator<readonly Json[]> {
  for await (const stray of straysOf(run, database, machines))
    yield ["leave", "compute_nodes", String(stray.id), stray.bm_node_id, whyStray(stray)];
}
