import type { Stray } from "../core/hosts/computes.ts";
import type { Database } from "../edge/database/open.ts";
import { changedSince } from "../engine/back.ts";
import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import type { Entry } from "../model/journal.ts";
import type { NovaStep, NovaTarget } from "../model/nova-plan.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { novaLeg, novaParts } from "../parts/nova.ts";
import { openRole } from "./databases.ts";
import { type FlavorApiOptions, type Reach, reopenFlavorApi } from "./flavor-api.ts";
import type { NovaFiles } from "./nova-files.ts";
import { type NovaPlace, novaWalk, withNova } from "./nova-place.ts";
import type { Watching } from "./nova-watch.ts";
import type { BACK_AFTER_IRONIC } from "./pipeline.ts";
import type { Backing } from "./rollback-plan.ts";
import { straysOf } from "./strays.ts";

/** What to take back of Nova's rows. */
export interface NovaWish {
  /** Plans that changed some, newest first. */
  readonly plans: readonly NovaFiles[];
  readonly all: boolean;
  readonly wants: (step: NovaStep) => boolean;
  readonly machines: (machine: PlannedMachine) => boolean;
}

/** Legs that are taken back and reported together. */
type NovaStage = (typeof BACK_AFTER_IRONIC)[number];

/** What became of some legs. */
interface PartBack {
  /** Rows restored now. */
  readonly done: number;
  readonly stopped: boolean;
}

/** Nova's side of a rollback. */
interface NovaBack {
  /** Waits for nova-compute to stand still; machines of which somebody changed a row of Nova since. */
  readonly look: () => Promise<Excluded>;
  /** @throws MigrationError N2I-E302 when its lock is lost */
  readonly check: () => Promise<void>;
  /** Adds rows that stay as they are to the list of those left. */
  readonly part: (stage: NovaStage, excluded: Excluded) => Promise<PartBack>;
}

interface Opened extends Backing {
  readonly database: Database;
  readonly place: NovaPlace;
  readonly wish: NovaWish;
}

/** Opens nova for the time of a rollback; null without its database, or where none of its rows was changed. */
export async function withNovaBack<T>(
  backing: Backing,
  wish: NovaWish | null,
  reach: Reach,
  watching: Watching,
  work: (nova: NovaBack | null) => Promise<T>,
): Promise<T> {
  if (wish === null || reach.novaDb === undefined) return work(null);
  const database = await openRole("nova-db", reach.novaDb, { readOnly: false });
  try {
    return await withNova(backing.session, database, wish.plans, watching, (place) => {
      const opened = { ...backing, database, place, wish };
      return work({
        async look() {
          await place.watch.settle();
          return changedHosts(place.target, wish, backing.session.journal.entries());
        },
        check: place.check,
        async part(stage, excluded) {
          const undone = await takePartBack(opened, stage, excluded, reach);
          if (stage.part === "hosts" && !undone.stopped) await tellStrays(opened);
          return undone;
        },
      });
    });
  } finally {
    await database.close();
  }
}

/**
 * Machines of which somebody changed a row of Nova's hosts since: nothing of them is taken back, Ironic's
 * rows neither.
 */
export async function changedHosts(
  nova: NovaTarget,
  wish: NovaWish,
  entries: readonly Entry[],
): Promise<Excluded> {
  const found = new Map<string, string>();
  const { hosts } = novaParts(nova, null);
  for (const plan of wish.plans)
    for (const [machine, why] of await changedSince(novaLeg(hosts, "hosts", plan), entries, wish))
      found.set(machine, `in nova ${why}`);
  return found;
}

/**
 * Takes back what the run changed in one part of nova, newest plan first.
 *
 * @returns rows restored now, and whether it was stopped
 */
async function takePartBack(
  { session, place, wish, leave, sink }: Opened,
  { part, legs }: NovaStage,
  excluded: Excluded,
  reach: FlavorApiOptions,
): Promise<PartBack> {
  await place.watch.look();
  let done = 0;
  for (const plan of wish.plans) {
    // What is not in nova itself is not asked for rows that are.
    const api = part === "api" ? await reopenFlavorApi(plan.header.api, reach, false) : null;
    const parts = novaParts(place.target, api?.target ?? null);
    const walked = legs.map((name) => novaWalk(place, parts, name, plan));
    const way = { direction: "back", only: wish, excluded } as const;
    const undone = await execute(walked, session, way).finally(() => api?.close());
    const shared =
      undone.shared === 0 ? "" : `; ${undone.shared} that machines share stay until --all`;
    sink.told(
      `Rollback of nova, ${part}: ${undone.done} rows restored, ${undone.found} so already, ${undone.left.length} left${shared}.`,
    );
    leave(undone.left);
    done += undone.done;
    if (undone.stopped) return { done, stopped: true };
  }
  return { done, stopped: false };
}

/** What of a compute node must be known to take it away. */
export function whyStray({ host, hypervisor_hostname }: Stray): string {
  return `made by the nova-compute of ${host} since, of ${hypervisor_hostname}`;
}

/** Compute nodes a statement names; the others are counted. */
const NAMED = 20;

/** Lists compute nodes that Nova made since; they are not this run's to take away. */
async function tellStrays({ run, database, wish, leave, sink }: Opened): Promise<void> {
  const strays: Stray[] = [];
  for await (const stray of straysOf(run, wish.plans, database, wish.machines)) strays.push(stray);
  if (strays.length === 0) return;
  leave(strays.map((stray) => ({ id: `compute_nodes:${stray.id}`, why: whyStray(stray) })));
  const more = strays.length > NAMED ? ", ..." : "";
  const ids = `${strays
    .slice(0, NAMED)
    .map(({ id }) => id)
    .join(", ")}${more}`;
  sink.told(
    `${strays.length} compute nodes were made by a nova-compute since, beside those that were there. Stop it, then take them away: UPDATE compute_nodes SET deleted = id, deleted_at = CURRENT_TIMESTAMP WHERE id IN (${ids})`,
  );
}
