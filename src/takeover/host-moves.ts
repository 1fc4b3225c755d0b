import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/parts.ts";
import { checkNova } from "../migrate/hosts/nova-target.ts";
import type { Entries } from "../model/journal.ts";
import type { OldHost, PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep, NovaTarget, UncommittedSteps } from "../model/nova/nova-plan.ts";
import { closing } from "../run/databases.ts";
import { failpoint } from "../run/failpoint.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import { type RunSession, withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { performFence } from "../systems/nova-db/perform.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { savedOptions } from "./baremetal/legacy-clients.ts";
import { recorded } from "./baremetal/legacy-fence.ts";
import { moveLegacy } from "./baremetal/legacy-take.ts";
import { checkMovable } from "./host-plan.ts";
import { checkDead, checkPairs, silentSince } from "./host-watch.ts";
import { openTarget } from "./open-target.ts";
import { isFenced } from "./rules/move-hosts.ts";
import { fenceLeg, fencePart, rowsLeg } from "./steps/host-move.ts";
import type { HostMoved, HostOptions, MoveTarget } from "./target.ts";

interface HostSession {
  readonly session: RunSession;
  readonly target: NovaTarget;
  readonly parts: {
    readonly rows: ReturnType<typeof rowsPart>;
    readonly fence: ReturnType<typeof fencePart>;
  };
  /** @throws MigrationError N2I-E302 if the lock is lost */
  readonly check: () => Promise<void>;
}

/** @throws MigrationError N2I-E300 for another Nova, N2I-E302 if another run works on it */
export async function withHosts<T>(
  run: RunFolder,
  { database, identity }: MoveTarget,
  plans: readonly MovePlan[],
  work: (hosts: HostSession) => Promise<T>,
): Promise<T> {
  for (const { manifest } of plans) checkNova(manifest.target, identity);
  const target = createNovaTarget(database, identity, failpoint);
  const lock = await target.lock();
  try {
    return await withSession(run, async (session) => {
      await session.begin("nova", identity);
      const dead = (id: number) => {
        for (const { manifest } of plans) {
          const { report_count = null } = manifest.from.find((one) => one.id === id) ?? {};
          if (report_count !== null) return { id, report_count, down: manifest.service_down_time };
        }
        return undefined;
      };
      const fence: NovaTarget["perform"] = (steps, hooks) =>
        performFence(database, steps, dead, hooks, failpoint);
      const parts = { rows: rowsPart(target), fence: fencePart(target, fence) };
      return work({ session, target, parts, check: lock.check });
    });
  } finally {
    await lock.release();
  }
}

/** @throws MigrationError N2I-E317 if no machine can be moved, N2I-E315 for a takeover plan */
export function moveHosts(
  variant: MoveTarget["variant"],
  options: HostOptions & { readonly run: string },
  sink: Sink,
): Promise<HostMoved> {
  return inRun(options.run, "host move", { kind: "takeover", variant }, (run) =>
    closing(async (keep) => {
      const plan = await presentMoves(run);
      checkMode(run, plan);
      await checkMovable(plan);
      await checkWindow(run, "host move");
      // The move needs the plan's options for boot files.
      const saved = await savedOptions(variant, run, options, { files: true });
      const target = await openTarget(variant, saved, keep, { readOnly: false }, sink.report);
      await saveOptions(run, "host", saved);
      const { counts, from, to } = plan.manifest;
      const { computes, instances, verdicts } = counts;
      const machines = `${counted(verdicts.move, "machine")} of ${from.map(({ host }) => host).join(", ")}`;
      const nova = target.database.label;
      if (target.variant === "ironic") {
        const rows = counted(computes + instances, "row");
        await sink.confirm(`Change ${rows} of ${nova}: ${machines} move to ${to.join(", ")}?`);
        return performMoves(run, target, plan, sink);
      }
      await sink.confirm(
        `Move ${machines} to ${to.join(", ")} in ${target.leases.label} and ${nova}?`,
      );
      return moveLegacy(run, target, plan, sink);
    }),
  );
}

/** @throws MigrationError N2I-E315 for a takeover, whose host was neither watched nor confirmed */
function checkMode({ path }: RunFolder, { manifest: { mode, nova_bm } }: MovePlan): void {
  if (mode === "move") return;
  throw new MigrationError("N2I-E315", `${path} takes over a dead host`, {
    fix: `${nova_bm ? "Its agent or host takeover resumes it" : "Resume with host takeover"}, or create a new plan with host plan.`,
  });
}

const NOTHING = (): Promise<void> => Promise.resolve();

/**
 * One transaction per batch. Resumes from existing changes. A machine with a changed row is skipped
 * completely.
 *
 * @param onStart runs before the first write, after all checks
 * @throws MigrationError N2I-E316 if a host that machines leave reports, N2I-E317 if a destination
 * is no longer suitable, N2I-E300 if a row is not as planned
 */
export function performMoves(
  run: RunFolder,
  clients: MoveTarget,
  plan: MovePlan,
  sink: Sink,
  onStart: (session: RunSession) => Promise<void> = NOTHING,
): Promise<HostMoved> {
  const { manifest } = plan;
  return withHosts(run, clients, [plan], async ({ session, target, parts, check }) => {
    const facts = await clients.readFacts();
    await checkPairs(facts, plan);
    // Before the fence, compare the plan's report_count, as the fence statement does.
    const isFencedNow = ({ id }: OldHost): boolean =>
      facts.hosts.some((one) => one.id === id && isFenced(one));
    const oldHosts = manifest.from.every(isFencedNow)
      ? await silentSince(target, clients, manifest, sink)
      : manifest.from;
    const watch = async (): Promise<void> => {
      await check();
      await checkDead(target, oldHosts);
    };
    await onStart(session);
    const fence = { ...fenceLeg(parts.fence, plan), ...{ check: watch, precondition: NOTHING } };
    const fenced = await execute([fence], session, { direction: "forward" });
    const { part, exclude, drop } = waitUntilStarted(parts.rows, target);
    const rows = { ...rowsLeg(part, plan), ...{ check: watch, precondition: NOTHING, exclude } };
    const moved = await sink.during(
      "host move",
      manifest.counts.machines,
      (progress) => execute([rows], session, { direction: "forward" }, progress).finally(drop),
      ({ done }) => `${counted(done, "row")} changed`,
    );
    if (!moved.stopped) {
      // A plan that was interrupted before this entry is resumed.
      await recorded(session, ENDED, plan.sha256);
      if (moved.excluded.length > 0 && moved.done + moved.found === 0) {
        const whys = moved.excluded.map(({ line, reason }) => `${line.uuid}: ${reason}`);
        throw new MigrationError("N2I-E300", `nothing was moved: ${listed(whys, NAMES, "; ")}`);
      }
    }
    return {
      ...{ manifest, blocked: manifest.counts.verdicts.blocked, fenced: fenced.done },
      ...{ made: moved.done, found: moved.found, stopped: moved.stopped },
      skipped: moved.excluded.map(({ line, reason }) => ({ id: `machine:${line.uuid}`, reason })),
    };
  });
}

/** Machines with a row that is neither as planned nor moved. They are skipped completely. */
async function changedMachines(
  { inspect }: NovaTarget,
  steps: readonly NovaStep[],
): Promise<Excluded> {
  const states = new Map((await inspect(steps)).map((state) => [state.id, state]));
  return new Map(
    steps.flatMap(({ id, machine }) => {
      const state = states.get(id);
      if (state?.is !== "other" || machine === null) return [];
      return [[machine, `${id} ${state.reason}: the machine is not moved`] as const];
    }),
  );
}

/**
 * Writes a batch inside an open transaction without a separate inspection, because rows usually
 * match, and commits after the journal entry. If a row differs, the transaction is rolled back and
 * each row is inspected.
 */
function waitUntilStarted(rows: HostSession["parts"]["rows"], target: NovaTarget) {
  let uncommitted: UncommittedSteps | null = null;
  const drop = async (): Promise<void> => {
    await uncommitted?.drop();
    uncommitted = null;
  };
  const perform: typeof rows.perform = (steps, hooks) => {
    if (uncommitted === null) return rows.perform(steps, { ...hooks, owned: () => false });
    const { keep } = uncommitted;
    uncommitted = null;
    return keep(hooks);
  };
  return {
    drop,
    async exclude(lines: readonly PlannedMove[]): Promise<Excluded> {
      await drop();
      const steps = lines.flatMap((line) => line.steps);
      if (steps.length > 0) uncommitted = await target.writeUncommitted(steps);
      return uncommitted === null ? changedMachines(target, steps) : new Map();
    },
    part: { ...rows, perform },
  };
}

/** Journal name of completed plans, including plans with skipped machines. */
const ENDED = "host-plan";

/** Whether a plan was completed. Its skipped machines need another plan. */
export function isThrough({ sha256 }: MovePlan, entries: Entries): boolean {
  return entries.some((entry) => entry.do === "end" && entry.part === ENDED && entry.id === sha256);
}
