import { changedSince, inspectBack, type Scope } from "../engine/back.ts";
import { execute } from "../engine/execute.ts";
import { MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/nova.ts";
import { checkNova } from "../migrate/hosts/nova-target.ts";
import { isUp } from "../migrate/hosts/rules/running.ts";
import { HEARTBEAT } from "../model/ironic/service.ts";
import type { Entries } from "../model/journal.ts";
import type { PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import { queueText } from "../model/nova/requests.ts";
import type { UndoPreview } from "../model/preview.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../run/rollback.ts";
import type { Sink } from "../run/sink.ts";
import { readBeats } from "../systems/nova-db/services.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import {
  type LegacyClients,
  type LegacyPlaces,
  legacyPlaces,
  openLegacyClients,
} from "./baremetal/legacy-clients.ts";
import { liftByHand, takenByHand } from "./baremetal/legacy-fence.ts";
import { returnMachines, withLegacy } from "./baremetal/legacy-moves.ts";
import {
  type LegacyMachine,
  movedMachines,
  startedMachines,
} from "./baremetal/steps/legacy-started.ts";
import { type HostPlaces, openHostClients } from "./host-clients.ts";
import { withHosts } from "./host-moves.ts";
import { backTransition, standing } from "./rules/legacy-states.ts";
import {
  EVERYTHING,
  fenceLeg,
  fencePart,
  fencesOf,
  rowsBack,
  rowsToRestore,
} from "./steps/host-move.ts";
import type { MoveTarget } from "./target.ts";

export function hostsBack(
  variant: MoveTarget["variant"],
  words: LegacyPlaces & RollbackOptions,
): Rollback {
  return variant === "ironic" ? novaBack(words) : machinesBack(words);
}

/**
 * Skips a machine with a changed row completely. Lifts the fence last, if no machine is skipped.
 */
function novaBack(words: HostPlaces & RollbackOptions): Rollback {
  const { all, node = [] } = words;
  const about = { kind: "takeover", variant: "ironic" } as const;
  return rollbackOf(about, words, (sink, preview) => ({
    nothing: "this run has changed nothing",
    async find(run, entries) {
      const plans = await movePlans(run, entries);
      if (plans.length === 0) return null;
      const wanted = new Set(node.map((uuid) => uuid.toLowerCase()));
      await checkNames(wanted, plans);
      const wants = ({ uuid }: PlannedMove): boolean => all || wanted.has(uuid.toLowerCase());
      return { run, entries, plans, scope: { all, wants } };
    },
    async open(found, keep) {
      return {
        ...found,
        place: await openHostClients(words, keep, { readOnly: preview }, sink.say),
      };
    },
    async question({ plans, entries, scope, place }) {
      const rows = await rowsToRestore(plans, entries, scope);
      return `Restore ${counted(rows, "row")} of ${place.database.shown}?`;
    },
    back: ({ run, place, entries, plans, scope }, leave) =>
      withHosts(run, place, plans, async ({ session, parts, check }) => {
        const how = { check, precondition: () => Promise.resolve() };
        let stayed = 0;
        for (const plan of plans) {
          const leg = rowsBack(parts.rows, plan);
          const excluded = await changedSince(leg, entries, scope);
          leave(
            [...excluded].map(([id, why]) => ({
              id: `machine:${id}`,
              why: `${why}: the machine is not changed`,
            })),
          );
          const way = { direction: "back", only: scope, excluded } as const;
          const undone = await execute([{ ...leg, ...how }], session, way);
          leave(undone.left);
          stayed += excluded.size + undone.left.length;
          sink.result(
            `Rollback: ${counted(undone.done, "row")} restored, ${undone.found} already restored, ${undone.left.length} left.`,
          );
          if (undone.stopped) return null;
        }
        if (scope.all && stayed === 0) {
          for (const plan of plans) {
            const leg = fenceLeg(parts.fence, plan);
            const way = { direction: "back", only: EVERYTHING } as const;
            const lifted = await execute([{ ...leg, ...how }], session, way);
            leave(lifted.left);
            if (lifted.done > 0)
              sink.result(
                `Rollback: ${counted(lifted.done, "host is", "hosts are")} no longer fenced.`,
              );
          }
        } else if ((await fencesOf(plans, session.journal.entries())) > 0)
          sink.result("A fence of this run is kept, because not all machines were returned.");
        for (const host of await silentOf(place, plans)) sink.result(queueText(host));
        return ENDED;
      }),
    previews: ({ place, entries, plans, scope }) => previewsOf(place, entries, plans, scope),
    summary: (_job, { restore, leave }) =>
      sink.result(`Rollback would restore ${counted(restore, "row")} and leave ${leave}.`),
  }));
}

/** Hosts that do not report, whose queues keep requests until they start. */
async function silentOf(
  { database }: MoveTarget,
  plans: readonly MovePlan[],
): Promise<readonly string[]> {
  const down = Math.max(...plans.map(({ manifest }) => manifest.service_down_time));
  const hosts = [...new Set(plans.flatMap(({ manifest }) => manifest.to))];
  const beats = await readBeats(database, hosts);
  return beats.flatMap((beat) => (isUp(beat, down) ? [] : [beat.host]));
}

async function* previewsOf(
  { database, identity }: MoveTarget,
  entries: Entries,
  plans: readonly MovePlan[],
  scope: Scope<PlannedMove>,
): AsyncGenerator<UndoPreview> {
  for (const { manifest } of plans) checkNova(manifest.target, identity);
  const target = createNovaTarget(database, identity);
  let stayed = 0;
  for (const plan of plans) {
    const leg = rowsBack(rowsPart(target), plan);
    const excluded = await changedSince(leg, entries, scope);
    stayed += excluded.size;
    yield* previewRowsOf(inspectBack(leg, entries, scope, excluded), null);
  }
  if (!scope.all) return;
  const stays = stayed === 0 ? null : "machines of that host are left";
  const part = fencePart(target, target.perform);
  for (const plan of plans)
    yield* previewRowsOf(inspectBack(fenceLeg(part, plan), entries, EVERYTHING), stays);
}

/** @param stays why no row is restored, or null */
async function* previewRowsOf(
  inspected: ReturnType<typeof inspectBack<NovaStep, unknown>>,
  stays: string | null,
): AsyncGenerator<UndoPreview> {
  for await (const batch of inspected)
    for (const { change, state } of batch) {
      if (state.is === "after") continue;
      const why = stays ?? (state.is === "other" ? state.why : null);
      const uuid = change.id.slice(change.id.indexOf(":") + 1);
      const action = why === null ? "restore" : "leave";
      yield { action, resource: change.table, uuid, bm_node_id: null, why };
    }
}

/** @throws MigrationError N2I-E306 */
async function checkNames(names: ReadonlySet<string>, plans: readonly MovePlan[]): Promise<void> {
  const unfound = new Set(names);
  for (const { lines } of unfound.size === 0 ? [] : plans)
    for await (const batch of lines())
      for (const { uuid } of batch) unfound.delete(uuid.toLowerCase());
  checkFound(unfound);
}

/** @throws MigrationError N2I-E306 */
function checkFound(unfound: ReadonlySet<string>): void {
  if (unfound.size > 0)
    throw new MigrationError("N2I-E306", `${[...unfound].join(", ")} was never moved by this run`);
}

/** From any step. The epoch increases. */
function machinesBack(words: LegacyPlaces & RollbackOptions): Rollback {
  const { all, node = [] } = words;
  const about = { kind: "takeover", variant: "baremetal" } as const;
  /** Counts of a preview. A fence is a row, but not a machine. */
  const counts = { restore: 0, leave: 0 };
  return rollbackOf(about, words, (sink, preview) => ({
    nothing: "this run has changed nothing",
    async find(run, entries) {
      const names = new Set(node.map((uuid) => uuid.toLowerCase()));
      const machines = movedMachines(entries).filter(
        ({ id }) => all || names.has(id.toLowerCase()),
      );
      for (const { id } of machines) names.delete(id.toLowerCase());
      checkFound(names);
      const fences: ReturnType<typeof takenByHand> = all ? takenByHand(entries) : new Map();
      return machines.length === 0 && fences.size === 0 ? null : { run, machines, fences };
    },
    async open(found, keep) {
      const how = { readOnly: preview };
      const given = await legacyPlaces(found.run, words);
      return { ...found, place: await openLegacyClients(given, keep, how, sink.say) };
    },
    async question({ place, machines }) {
      await warnOfRunning(place, machines, sink);
      return `Return ${counted(machines.length, "machine")} in ${place.leases.shown} and ${place.database.shown}?`;
    },
    async back({ run, place, machines }, leave) {
      // A plan of another kind does not describe the moves in the journal.
      const plans = [await presentMoves(run)].filter(({ manifest }) => "nova_bm" in manifest);
      const hosts = machines.flatMap(({ move: { from, to } }) => [from, to]);
      const wanted = new Set(machines.map(({ id }) => id));
      return withLegacy(run, place, plans, { hosts }, async (legacy) => {
        const { back, left, stopped } = await sink.during(
          "rollback",
          machines.length,
          (progress) =>
            returnMachines(
              legacy,
              (ours) => startedMachines(ours).filter(({ id }) => wanted.has(id)),
              leave,
              progress,
            ),
          (done) => `${counted(done.back, "machine")} returned`,
        );
        const whole = all && left === 0 && !stopped;
        const lifted = whole ? await liftByHand(legacy.session, place) : 0;
        const fences = lifted === 0 ? "" : `, ${counted(lifted, "fence")} lifted`;
        sink.result(`Rollback: ${counted(back, "machine")} returned, ${left} left${fences}.`);
        return stopped ? null : ENDED;
      });
    },
    async *previews(job) {
      for await (const row of machinePreviews(job.place, job.machines, job.fences)) {
        if (row.resource === "machine") counts[row.action === "leave" ? "leave" : "restore"] += 1;
        yield row;
      }
    },
    summary: () =>
      sink.result(
        `Rollback would return ${counted(counts.restore, "machine")} and leave ${counts.leave}.`,
      ),
  }));
}

async function* machinePreviews(
  { look }: LegacyClients,
  machines: readonly LegacyMachine[],
  fences: ReturnType<typeof takenByHand>,
): AsyncGenerator<UndoPreview> {
  let stay = false;
  const now = await look(machines.map(({ move }) => move));
  for (const [at, { id, move }] of machines.entries()) {
    const seen = now[at];
    if (seen === undefined) continue;
    const { is, why } = standing(backTransition(move), seen);
    if (is === "after") continue;
    stay ||= why !== null;
    const action = why === null ? "restore" : "leave";
    yield { action, resource: "machine", uuid: id, bm_node_id: move.id, why };
  }
  const why = stay ? "machines of that host are left" : null;
  for (const [host, marks] of fences)
    if (marks.length > 0)
      yield {
        ...{ action: why === null ? "restore" : "leave", resource: "bm_service_leases", why },
        ...{ uuid: host, bm_node_id: null },
      };
}

/** A running resource tracker deletes records of machines that leave its host. */
async function warnOfRunning(
  { database }: LegacyClients,
  machines: readonly LegacyMachine[],
  { say }: Pick<Sink, "say">,
): Promise<void> {
  const hosts = [...new Set(machines.map(({ move }) => move.to))];
  const beats = hosts.length === 0 ? [] : await readBeats(database, hosts);
  for (const { host } of beats.filter((beat) => isUp(beat, HEARTBEAT)))
    say(
      `Warning: nova-compute of ${host} reports. Stop it first, and start it afterwards, because it may delete a compute node that changes hosts.`,
    );
}
