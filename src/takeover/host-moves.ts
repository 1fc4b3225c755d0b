import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/parts.ts";
import { checkNova } from "../migrate/hosts/nova-target.ts";
import type { SkippedRow } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import type { OldHost, PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep, NovaTarget, UncommittedSteps } from "../model/nova/nova-plan.ts";
import { failpoint } from "../run/failpoint.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import type { MovePlan } from "../run/host-files.ts";
import { type RunSession, withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { performFence } from "../systems/nova-db/perform.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { recorded } from "./baremetal/legacy-fence.ts";
import { checkDead, checkPairs, silentSince } from "./host-watch.ts";
import { isFenced } from "./rules/move-hosts.ts";
import { fenceLeg, fencePart, rowsLeg } from "./steps/host-move.ts";
import type { MoveTarget } from "./target.ts";

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

export interface HostMoved {
  readonly manifest: MovePlan["manifest"];
  readonly blocked: number;
  readonly fenced: number;
  /** Changed rows, and rows that had been changed before; for nova-baremetal, machines. */
  readonly made: number;
  readonly found: number;
  /** Machines that another user or service changed since the plan. */
  readonly skipped: readonly SkippedRow[];
  readonly stopped: boolean;
}
