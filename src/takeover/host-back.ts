import { changedSince, inspectBack, type Scope } from "../engine/back.ts";
import { execute } from "../engine/execute.ts";
import { MigrationError } from "../lib/error.ts";
import { once } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/parts.ts";
import { checkNova } from "../migrate/hosts/nova-target.ts";
import { isUp } from "../migrate/hosts/rules/running.ts";
import type { SkippedRow, UndoPreview } from "../model/change.ts";
import { HEARTBEAT } from "../model/ironic/service.ts";
import type { Entries } from "../model/journal.ts";
import type { PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import { queueText } from "../model/nova/requests.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../run/rollback.ts";
import type { Sink } from "../run/sink.ts";
import { readServices } from "../systems/nova-db/services.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { type LegacyClients, openLegacyClients, savedOptions } from "./baremetal/legacy-clients.ts";
import { liftByHand, takenByHand } from "./baremetal/legacy-fence.ts";
import { runMachines, withLegacy } from "./baremetal/legacy-moves.ts";
import { type LegacyMachine, movedMachines } from "./baremetal/steps/legacy-started.ts";
import { withHosts } from "./host-moves.ts";
import { longestDownTime } from "./host-watch.ts";
import { backTransition, moveState } from "./rules/legacy-states.ts";
import {
  EVERYTHING,
  fenceLeg,
  fencePart,
  fencesOf,
  rowsBack,
  rowsToRestore,
} from "./steps/host-move.ts";
import { type HostOptions, type MoveTarget, openHostClients } from "./target.ts";

export function hostsBack(
  variant: MoveTarget["variant"],
  options: HostOptions & RollbackOptions,
): Rollback {
  return variant === "ironic" ? novaBack(options) : machinesBack(options);
}

/**
 * Skips a machine with a changed row completely. Lifts the fence last, if no machine is skipped.
 */
function novaBack(options: HostOptions & RollbackOptions): Rollback {
  const { all } = options;
  const about = { kind: "takeover", variant: "ironic" } as const;
  return rollbackOf(about, options, (sink, preview) => ({
    nothing: "this run has changed nothing",
    async find(run, entries) {
      const plans = await movePlans(run, entries);
      if (plans.length === 0) return null;
      const moved: string[] = [];
      for (const { lines } of all ? [] : plans)
        for await (const batch of lines()) for (const { uuid } of batch) moved.push(uuid);
      const names = namesAmong(moved, options);
      const selects = ({ uuid }: PlannedMove): boolean => all || names.has(uuid.toLowerCase());
      return { run, entries, plans, scope: { all, selects } };
    },
    async open(found, keep) {
      return {
        ...found,
        clients: await openHostClients(options, keep, { readOnly: preview }, sink.report),
      };
    },
    async question({ plans, entries, scope, clients }) {
      const rows = await rowsToRestore(plans, entries, scope);
      return `Restore ${counted(rows, "row")} of ${clients.database.label}?`;
    },
    back: ({ run, clients, entries, plans, scope }, reportSkipped) =>
      withHosts(run, clients, plans, async ({ session, parts, check }) => {
        const how = { check, precondition: () => Promise.resolve() };
        let stayed = 0;
        for (const plan of plans) {
          const leg = rowsBack(parts.rows, plan);
          const excluded = await changedSince(leg, entries, scope);
          for (const [id, reason] of excluded)
            reportSkipped([
              { id: `machine:${id}`, reason: `${reason}: the machine is not changed` },
            ]);
          const course = { direction: "back", only: scope, excluded } as const;
          const undone = await execute([{ ...leg, ...how }], session, course);
          reportSkipped(undone.skipped);
          stayed += excluded.size + undone.skipped.length;
          sink.result(
            `Rollback: ${counted(undone.done, "row")} restored, ${undone.found} already restored, ${undone.skipped.length} left.`,
          );
          if (undone.stopped) return null;
        }
        if (scope.all && stayed === 0) {
          for (const plan of plans) {
            const leg = fenceLeg(parts.fence, plan);
            const course = { direction: "back", only: EVERYTHING } as const;
            const lifted = await execute([{ ...leg, ...how }], session, course);
            reportSkipped(lifted.skipped);
            if (lifted.done > 0)
              sink.result(
                `Rollback: ${counted(lifted.done, "host is", "hosts are")} no longer fenced.`,
              );
          }
        } else if ((await fencesOf(plans, session.journal.entries())) > 0)
          sink.result("A fence of this run is kept, because not all machines were returned.");
        const hosts = [...new Set(plans.flatMap(({ manifest }) => manifest.to))];
        const beats = await readServices(clients.database, hosts);
        // Their queues keep requests until they start.
        for (const beat of beats.filter((one) => !isUp(one, longestDownTime(plans))))
          sink.result(queueText(beat.host));
        return ENDED;
      }),
    previews: ({ clients, entries, plans, scope }) => previewsOf(clients, entries, plans, scope),
    summary: (_job, { restore, leave: skipped }) =>
      sink.result(`Rollback would restore ${counted(restore, "row")} and leave ${skipped}.`),
  }));
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
  const skipReason = stayed === 0 ? null : "machines of that host are left";
  const part = fencePart(target, target.perform);
  for (const plan of plans)
    yield* previewRowsOf(inspectBack(fenceLeg(part, plan), entries, EVERYTHING), skipReason);
}

/** @param skipReason why no row is restored, or null */
async function* previewRowsOf(
  inspected: ReturnType<typeof inspectBack<NovaStep, unknown>>,
  skipReason: string | null,
): AsyncGenerator<UndoPreview> {
  for await (const batch of inspected)
    for (const { change, state } of batch) {
      if (state.is === "after") continue;
      const reason = skipReason ?? (state.is === "other" ? state.reason : null);
      const uuid = change.id.slice(change.id.indexOf(":") + 1);
      const action = reason === null ? "restore" : "leave";
      yield { action, resource: change.table, uuid, bm_node_id: null, reason };
    }
}

/** The selected machines. @throws MigrationError N2I-E306 if one was not moved */
function namesAmong(moved: readonly string[], { node = [] }: RollbackOptions): ReadonlySet<string> {
  const names = new Set(node.map((uuid) => uuid.toLowerCase()));
  const found = new Set(moved.map((uuid) => uuid.toLowerCase()));
  const unfound = [...names].filter((name) => !found.has(name));
  if (unfound.length === 0) return names;
  throw new MigrationError("N2I-E306", `${unfound.join(", ")} was never moved by this run`);
}

/** Rolls back from any step. The epoch increases. */
function machinesBack(options: HostOptions & RollbackOptions): Rollback {
  const { all } = options;
  const about = { kind: "takeover", variant: "baremetal" } as const;
  return rollbackOf(about, options, (sink, preview) => ({
    nothing: "this run has changed nothing",
    async find(run, entries) {
      const moved = movedMachines(entries);
      const ids = moved.map(({ id }) => id);
      const names = namesAmong(ids, options);
      const machines = moved.filter(({ id }) => all || names.has(id.toLowerCase()));
      const fences: ReturnType<typeof takenByHand> = all ? takenByHand(entries) : new Map();
      return machines.length === 0 && fences.size === 0 ? null : { run, machines, fences };
    },
    async open(found, keep) {
      const how = { readOnly: preview };
      const where = await savedOptions("baremetal", found.run, options);
      return { ...found, clients: await openLegacyClients(where, keep, how, sink.report) };
    },
    async question({ clients, machines }) {
      await warnOfRunning(clients, machines, sink);
      return `Return ${counted(machines.length, "machine")} in ${clients.leases.label} and ${clients.database.label}?`;
    },
    async back({ run, clients, machines }, reportSkipped) {
      const plans = [await presentMoves(run)];
      const hosts = machines.flatMap(({ move: { from, to } }) => [from, to]);
      return withLegacy(run, clients, plans, { hosts }, async (deps) => {
        const skip = (row: SkippedRow): void => reportSkipped([row]);
        const { made, found, skipped, stopped } = await sink.during(
          "rollback",
          machines.length,
          (progress) => runMachines(deps, "back", once(machines), { skip, progress }),
          (done) => `${counted(done.made + done.found, "machine")} returned`,
        );
        const [back, left] = [made + found, skipped.length];
        const isComplete = all && left === 0 && !stopped;
        const lifted = isComplete ? await liftByHand(deps.session, clients) : 0;
        const fences = lifted === 0 ? "" : `, ${counted(lifted, "fence")} lifted`;
        sink.result(`Rollback: ${counted(back, "machine")} returned, ${left} left${fences}.`);
        return stopped ? null : ENDED;
      });
    },
    previews: ({ clients, machines, fences }) => machinePreviews(clients, machines, fences),
    summary({ fences }, { restore, leave: skipped }) {
      // A fence is a row, but not a machine. It is left with the machines.
      const rows = [...fences.values()].filter((marks) => marks.length > 0).length;
      const [machines, left] = skipped === 0 ? [restore - rows, 0] : [restore, skipped - rows];
      sink.result(`Rollback would return ${counted(machines, "machine")} and leave ${left}.`);
    },
  }));
}

async function* machinePreviews(
  { read }: LegacyClients,
  machines: readonly LegacyMachine[],
  fences: ReturnType<typeof takenByHand>,
): AsyncGenerator<UndoPreview> {
  let stay = false;
  for (const now of await read(machines.map(({ move }) => move))) {
    const { id, uuid } = now.move;
    const { is, reason } = moveState(backTransition(now.move), now);
    if (is === "after") continue;
    stay ||= reason !== null;
    const action = reason === null ? "restore" : "leave";
    yield { action, resource: "machine", uuid, bm_node_id: id, reason };
  }
  const reason = stay ? "machines of that host are left" : null;
  for (const [host, marks] of fences)
    if (marks.length > 0)
      yield {
        ...{ action: reason === null ? "restore" : "leave", resource: "bm_service_leases", reason },
        ...{ uuid: host, bm_node_id: null },
      };
}

/** A running resource tracker deletes records of machines that leave its host. */
async function warnOfRunning(
  { database }: LegacyClients,
  machines: readonly LegacyMachine[],
  { report }: Sink,
): Promise<void> {
  const hosts = [...new Set(machines.map(({ move }) => move.to))];
  const beats = hosts.length === 0 ? [] : await readServices(database, hosts);
  for (const { host } of beats.filter((beat) => isUp(beat, HEARTBEAT)))
    report(
      `Warning: nova-compute of ${host} reports. Stop it first, and start it afterwards, because it may delete a compute node that changes hosts.`,
    );
}
