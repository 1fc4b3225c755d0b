import { changedSince, inspectBack } from "../engine/back.ts";
import { execute } from "../engine/execute.ts";
import { MigrationError } from "../lib/error.ts";
import { rowsPart } from "../migrate/apply/nova.ts";
import { checkNova } from "../migrate/hosts/nova-place.ts";
import { isUp } from "../migrate/hosts/rules/running.ts";
import type { Left } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import type { PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import { queueText } from "../model/nova/requests.ts";
import type { UndoPreview } from "../model/preview.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, movePlans } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { checkScope } from "../run/scope.ts";
import type { Sink } from "../run/sink.ts";
import { readBeats } from "../systems/nova-db/services.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { withHosts } from "./host-moves.ts";
import { EVERYTHING, fencesOf, rowsToRestore } from "./host-owned.ts";
import { type HostPlace, type HostPlaces, openHostPlace } from "./host-world.ts";
import { fenceLeg, fencePart, rowsBack } from "./steps/host-move.ts";

/** What is to be taken back of a run that moves machines. */
interface HostBackWords extends HostPlaces {
  readonly run: string;
  readonly all: boolean;
  readonly node?: readonly string[];
}

/** What there is to take back. */
interface HostBack {
  readonly place: HostPlace;
  readonly entries: Entries;
  /** Newest first. */
  readonly plans: readonly MovePlan[];
  readonly scope: { readonly all: boolean; readonly wants: (line: PlannedMove) => boolean };
}

/**
 * Takes back what the run changed in Nova: machines go to the hosts they came from, a machine whole or not
 * at all; a fence of ours is lifted last, and only where no machine stayed.
 *
 * @param leave hears of rows that stay as they are
 * @returns whether it came to its end; null where nothing was changed
 */
export async function rollbackHosts(
  words: HostBackWords,
  sink: Sink,
  leave: (rows: readonly Left[]) => void,
): Promise<boolean | null> {
  return inRun(words.run, "rollback", { create: false }, async (run) => {
    await checkWindow(run, "rollback");
    return withBack(words, false, run, sink, async ({ place, entries, plans, scope }) => {
      const rows = await rowsToRestore(plans, entries, scope);
      await sink.confirm(`Restore ${rows} rows of ${place.database.shown}?`);
      return withHosts(run, place, plans, async ({ session, parts, check }) => {
        const how = { check, precondition: () => Promise.resolve() };
        let stayed = 0;
        for (const plan of plans) {
          const leg = rowsBack(parts.rows, plan);
          const excluded = await changedSince(leg, entries, scope);
          leave(
            [...excluded].map(([id, why]) => ({
              id: `machine:${id}`,
              why: `${why}: all of it stays`,
            })),
          );
          const way = { direction: "back", only: scope, excluded } as const;
          const undone = await execute([{ ...leg, ...how }], session, way);
          leave(undone.left);
          stayed += excluded.size + undone.left.length;
          sink.result(
            `Rollback: ${undone.done} rows restored, ${undone.found} so already, ${undone.left.length} left.`,
          );
          if (undone.stopped) return false;
        }
        if (scope.all && stayed === 0) {
          for (const plan of plans) {
            const leg = fenceLeg(parts.fence, { ...plan, fence: plan.manifest.fence });
            const way = { direction: "back", only: EVERYTHING } as const;
            const lifted = await execute([{ ...leg, ...how }], session, way);
            leave(lifted.left);
            if (lifted.done > 0)
              sink.result(`Rollback: ${lifted.done} hosts are not fenced any more.`);
          }
        } else if ((await fencesOf(plans, session.journal.entries())) > 0)
          sink.result("A fence of this run stays, as machines of that host do.");
        for (const host of await silentOf(place, plans)) sink.result(queueText(host));
        return true;
      });
    });
  });
}

/** Hosts that served machines and do not report: what they were asked for waits until they start. */
async function silentOf(
  { database }: HostPlace,
  plans: readonly MovePlan[],
): Promise<readonly string[]> {
  const down = Math.max(...plans.map(({ manifest }) => manifest.service_down_time));
  const hosts = [...new Set(plans.flatMap(({ manifest }) => manifest.to))];
  const beats = await readBeats(database, hosts);
  return beats.flatMap((beat) => (isUp(beat, down) ? [] : [beat.host]));
}

/** Shows what the same words would take back; writes nothing. */
export async function previewHostsBack(words: HostBackWords, sink: Sink): Promise<void> {
  const shown = await inRun(words.run, "rollback", { create: false }, (run) =>
    withBack(words, true, run, sink, async (back) => {
      const counts = { restore: 0, leave: 0 };
      const rows = async function* (): AsyncGenerator<UndoPreview> {
        for await (const row of previewsOf(back)) {
          counts[row.action === "leave" ? "leave" : "restore"] += 1;
          yield row;
        }
      };
      await sink.list("undos", rows());
      sink.result(`Rollback would restore ${counts.restore} rows and leave ${counts.leave}.`);
      return true;
    }),
  );
  if (shown === null) await sink.list("undos", (async function* () {})());
}

async function* previewsOf({
  place: { database, identity },
  entries,
  plans,
  scope,
}: HostBack): AsyncGenerator<UndoPreview> {
  for (const { manifest } of plans) checkNova(manifest.target, identity);
  const target = createNovaTarget(database, identity);
  let stayed = 0;
  for (const plan of plans) {
    const leg = rowsBack(rowsPart(target), plan);
    const excluded = await changedSince(leg, entries, scope);
    stayed += excluded.size;
    for await (const batch of inspectBack(leg, entries, scope, excluded))
      for (const { change, state } of batch)
        if (state.is !== "after") yield shownOf(change, state.is === "other" ? state.why : null);
  }
  if (!scope.all) return;
  const stays = stayed === 0 ? null : "machines of that host stay";
  for (const plan of plans) {
    const part = fencePart(target, target.perform);
    const leg = fenceLeg(part, { ...plan, fence: plan.manifest.fence });
    for await (const batch of inspectBack(leg, entries, EVERYTHING))
      for (const { change, state } of batch)
        if (state.is !== "after")
          yield shownOf(change, stays ?? (state.is === "other" ? state.why : null));
  }
}

function shownOf({ table, id }: NovaStep, why: string | null): UndoPreview {
  const action = why === null ? "restore" : "leave";
  const uuid = id.slice(id.indexOf(":") + 1);
  return { action, resource: table, uuid, bm_node_id: null, why };
}

async function withBack<T>(
  words: HostBackWords,
  readOnly: boolean,
  run: Parameters<typeof movePlans>[0],
  sink: Sink,
  work: (back: HostBack) => Promise<T>,
): Promise<T | null> {
  const { all, node = [] } = words;
  checkScope(all, node);
  const { entries } = await readJournal(run);
  const plans = await movePlans(run, entries);
  if (plans.length === 0) {
    sink.result("Rollback: this run has changed nothing.");
    return null;
  }
  const wanted = new Set(node.map((uuid) => uuid.toLowerCase()));
  await checkNames(wanted, plans);
  const wants = ({ uuid }: PlannedMove): boolean => all || wanted.has(uuid.toLowerCase());
  return closing(async (keep) => {
    const place = await openHostPlace(words, keep, { readOnly }, sink.say);
    return work({ place, entries, plans, scope: { all, wants } });
  });
}

/** @throws MigrationError N2I-E306 */
async function checkNames(names: ReadonlySet<string>, plans: readonly MovePlan[]): Promise<void> {
  const unfound = new Set(names);
  for (const { lines } of unfound.size === 0 ? [] : plans)
    for await (const batch of lines())
      for (const { uuid } of batch) unfound.delete(uuid.toLowerCase());
  if (unfound.size > 0)
    throw new MigrationError("N2I-E306", `${[...unfound].join(", ")} was never moved by this run`);
}
