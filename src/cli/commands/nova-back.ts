import type { NovaActing } from "../../core/apply/nova.ts";
import { type NovaUndone, undoNova } from "../../core/apply/undo-nova.ts";
import type { Stray } from "../../core/hosts/strays.ts";
import type { Database } from "../../edge/database/open.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { NovaPart, NovaStep } from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { Left } from "../print/left.ts";
import { openRole } from "../wire/databases.ts";
import { type FlavorApiOptions, reopenFlavorApi } from "../wire/flavor-api.ts";
import { openNovaPlan, readNovaJournal, withNova } from "../wire/nova-acting.ts";
import { changedSince, type Staying } from "../wire/nova-undoing.ts";
import type { ComputeWatch, Watching } from "../wire/nova-watch.ts";
import { straysOf } from "../wire/strays.ts";
import { type Telling, told } from "./shared.ts";

/** What to take back of Nova's rows. */
export interface NovaWish {
  readonly all: boolean;
  readonly wants: (step: NovaStep) => boolean;
  readonly machines: (machine: PlannedMachine) => boolean;
}

/** Nova's side of a rollback. */
export interface NovaBack {
  /** Waits for nova-compute to stand still; machines of which somebody changed a row of Nova since. */
  readonly look: () => Promise<Staying>;
  /** Adds rows that stay as they are to the list of those left; whether it was stopped. */
  readonly part: (part: NovaPart, staying: Staying) => Promise<{ readonly stopped: boolean }>;
}

/** Rollback of nova, part by part; null without its database. */
export function novaBackOf(
  run: RunFolder,
  args: Telling & FlavorApiOptions & { readonly novaDb?: string },
  wish: NovaWish,
  watching: Watching,
  left: Left,
): NovaBack | null {
  const { novaDb } = args;
  if (novaDb === undefined) return null;
  let watch = watching;
  const within = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const database = await openRole("nova-db", novaDb, { readOnly: false });
    try {
      const done = await work(database);
      // What stood still a moment ago is not waited for again; its age is still looked at.
      watch = { ...watch, seconds: 0 };
      return done;
    } finally {
      await database.close();
    }
  };
  return {
    look: () => within((database) => lookFirst(run, database, wish, watch)),
    part: (part, staying) =>
      within(async (database) => {
        const wants: NovaWish["wants"] = (step) =>
          wish.wants(step) && !(part === "hosts" && staying.has(step.machine ?? ""));
        const here = { ...wish, wants, all: wish.all && staying.size === 0 };
        const stopped = await rollbackNova(run, database, part, here, watch, left, args);
        if (part === "hosts" && !stopped) await tellStrays(run, database, wish, left, args);
        return { stopped };
      }),
  };
}

/** Waits for nova-compute to stand still, then looks at every row that is to come back. */
async function lookFirst(
  run: RunFolder,
  database: Database,
  { wants }: NovaWish,
  watching: Watching,
): Promise<Staying> {
  const { plans } = await readNovaJournal(run);
  const found = new Map<string, string>();
  for (const sha256 of plans) {
    const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
    await withNova(run, database, plan, null, watching, async ({ target, journal }, watch) => {
      await watch.settle();
      const changed = await changedSince(plan, journal.entries(), wants, target);
      for (const [machine, why] of changed) found.set(machine, why);
    });
  }
  return found;
}

/** What of a compute node must be known to take it away. */
export function whyStray({ host, hypervisor_hostname }: Stray): string {
  return `made by the nova-compute of ${host} since, of ${hypervisor_hostname}`;
}

/** Compute nodes a statement names; the others are counted. */
const NAMED = 20;

/** Lists compute nodes that Nova made since; they are not this run's to take away. */
async function tellStrays(
  run: RunFolder,
  database: Database,
  { machines }: NovaWish,
  left: Left,
  format: Telling,
): Promise<void> {
  const strays: Stray[] = [];
  for await (const stray of straysOf(run, database, machines)) strays.push(stray);
  if (strays.length === 0) return;
  left.add(strays.map((stray) => ({ id: `compute_nodes:${stray.id}`, why: whyStray(stray) })));
  const more = strays.length > NAMED ? ", ..." : "";
  const ids = `${strays
    .slice(0, NAMED)
    .map(({ id }) => id)
    .join(", ")}${more}`;
  told(
    format,
    `${strays.length} compute nodes were made by a nova-compute since, beside those that were there. Stop it, then take them away: UPDATE compute_nodes SET deleted = id, deleted_at = CURRENT_TIMESTAMP WHERE id IN (${ids})`,
  );
}

/**
 * Takes back what the run changed in one part of nova, newest plan first.
 *
 * @returns whether it was stopped
 */
async function rollbackNova(
  run: RunFolder,
  database: Database,
  part: NovaPart,
  wish: NovaWish,
  watching: Watching,
  left: Left,
  args: Telling & FlavorApiOptions,
): Promise<boolean> {
  const { plans } = await readNovaJournal(run);
  for (const sha256 of plans) {
    const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
    // What is not in nova itself is not asked for rows that are.
    const api = part === "api" ? await reopenFlavorApi(plan.header.api, args, false) : null;
    const undo = async (acting: NovaActing, watch: ComputeWatch): Promise<NovaUndone> => {
      await watch.settle();
      return undoNova(plan, part, wish, acting);
    };
    const undone = await withNova(run, database, plan, api, watching, undo).finally(() =>
      api?.close(),
    );
    const shared =
      undone.shared === 0 ? "" : `; ${undone.shared} that machines share stay until --all`;
    told(
      args,
      `Rollback of nova, ${part}: ${undone.done} rows restored, ${undone.found} so already, ${undone.left.length} left${shared}.`,
    );
    left.add(undone.left);
    if (undone.stopped) return true;
  }
  return false;
}
