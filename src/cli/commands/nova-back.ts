import type { Stray } from "../../core/hosts/strays.ts";
import type { Database } from "../../edge/database/open.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { back, changedSince } from "../../engine/back.ts";
import type { Excluded } from "../../engine/part.ts";
import { gather, together, type Walked } from "../../engine/walk.ts";
import type { NovaPart, NovaStep } from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { type NovaLegName, novaParts } from "../../parts/nova.ts";
import { openRole } from "../../stages/databases.ts";
import { type FlavorApiOptions, reopenFlavorApi } from "../../stages/flavor-api.ts";
import {
  type NovaFile,
  type NovaPlace,
  novaPlans,
  novaWalk,
  openNovaPlan,
  withNova,
} from "../../stages/nova-acting.ts";
import type { Watching } from "../../stages/nova-watch.ts";
import type { RunSession } from "../../stages/session.ts";
import { straysOf } from "../../stages/strays.ts";
import type { Left } from "../print/left.ts";
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
  readonly look: () => Promise<Excluded>;
  /** Adds rows that stay as they are to the list of those left; whether it was stopped. */
  readonly part: (part: NovaPart, excluded: Excluded) => Promise<{ readonly stopped: boolean }>;
}

interface Opened {
  readonly run: RunFolder;
  readonly session: RunSession;
  readonly database: Database;
  readonly place: NovaPlace;
  /** Newest first. */
  readonly plans: readonly NovaFile[];
  readonly wish: NovaWish;
  readonly left: Left;
}

/** Opens nova for the time of a rollback; null without its database, or where none of its rows was changed. */
export async function withNovaBack<T>(
  {
    run,
    session,
    wish,
    left,
  }: Pick<Opened, "run" | "session" | "left"> & {
    readonly wish: NovaWish | null;
  },
  args: Telling & FlavorApiOptions & { readonly novaDb?: string },
  watching: Watching,
  work: (nova: NovaBack | null) => Promise<T>,
): Promise<T> {
  if (wish === null || args.novaDb === undefined) return work(null);
  const plans: NovaFile[] = [];
  for (const sha256 of await novaPlans(run))
    plans.push(await openNovaPlan(await findPlan(run, sha256, "nova")));
  const database = await openRole("nova-db", args.novaDb, { readOnly: false });
  try {
    return await withNova(session, database, plans, watching, (place) => {
      const opened = { run, session, database, place, plans, wish, left };
      return work({
        look: () => lookFirst(opened),
        async part(part, excluded) {
          const stopped = await takePartBack(opened, part, excluded, args);
          if (part === "hosts" && !stopped) await tellStrays(opened, args);
          return { stopped };
        },
      });
    });
  } finally {
    await database.close();
  }
}

/** Waits for nova-compute to stand still, then looks at every row of a machine that is to come back. */
async function lookFirst({ session, place, plans, wish }: Opened): Promise<Excluded> {
  await place.watch.settle();
  const found = new Map<string, string>();
  const parts = novaParts(place.target, null);
  for (const plan of plans) {
    const leg = novaWalk(place, parts, "hosts", plan);
    for (const [machine, why] of await changedSince(leg, session.journal.entries(), wish))
      found.set(machine, `in nova ${why}`);
  }
  return found;
}

/** The legs that a part is taken back by: what machines share comes last. */
const LEGS = {
  hosts: ["hosts", "shared"],
  api: ["api"],
  flavors: ["flavors"],
} as const satisfies { readonly [part in NovaPart]: readonly NovaLegName[] };

/**
 * Takes back what the run changed in one part of nova, newest plan first.
 *
 * @returns whether it was stopped
 */
async function takePartBack(
  { session, place, plans, wish, left }: Opened,
  part: NovaPart,
  excluded: Excluded,
  args: Telling & FlavorApiOptions,
): Promise<boolean> {
  await place.watch.look();
  for (const plan of plans) {
    // What is not in nova itself is not asked for rows that are.
    const api = part === "api" ? await reopenFlavorApi(plan.header.api, args, false) : null;
    const parts = novaParts(place.target, api?.target ?? null);
    const walk = (name: NovaLegName): Promise<Walked<NovaStep>> =>
      gather(back(novaWalk(place, parts, name, plan), session, wish, excluded));
    const [first, ...others] = LEGS[part];
    let undone: Walked<NovaStep>;
    try {
      undone = await walk(first);
      for (const name of others) if (!undone.stopped) undone = together(undone, await walk(name));
    } finally {
      await api?.close();
    }
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

/** What of a compute node must be known to take it away. */
export function whyStray({ host, hypervisor_hostname }: Stray): string {
  return `made by the nova-compute of ${host} since, of ${hypervisor_hostname}`;
}

/** Compute nodes a statement names; the others are counted. */
const NAMED = 20;

/** Lists compute nodes that Nova made since; they are not this run's to take away. */
async function tellStrays({ run, database, wish, left }: Opened, format: Telling): Promise<void> {
  const strays: Stray[] = [];
  for await (const stray of straysOf(run, database, wish.machines)) strays.push(stray);
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
