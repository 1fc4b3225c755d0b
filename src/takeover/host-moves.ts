import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMED } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/nova.ts";
import { checkNova } from "../migrate/hosts/nova-place.ts";
import type { Left } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import type { PlannedMove } from "../model/nova/host-move.ts";
import type { HeldSteps, NovaStep, NovaTarget } from "../model/nova/nova-plan.ts";
import { failpoint } from "../run/failpoint.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import type { MovePlan } from "../run/host-files.ts";
import { type RunSession, withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { performFence } from "../systems/nova-db/fence.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { checkDead, checkPairs, silentSince } from "./host-checks.ts";
import { isFenced, type MoveWorld } from "./rules/move-hosts.ts";
import { fenceLeg, fencePart, rowsLeg } from "./steps/host-move.ts";
import type { MoveTarget } from "./target.ts";

/** Nova, locked, with what a plan of a move does there. */
interface HostSession {
  readonly session: RunSession;
  readonly target: NovaTarget;
  readonly parts: {
    readonly rows: ReturnType<typeof rowsPart>;
    readonly fence: ReturnType<typeof fencePart>;
  };
  /** @throws MigrationError N2I-E302 when the lock is lost */
  readonly check: () => Promise<void>;
}

/**
 * Nova of these plans, found to be the one they were made for, and locked for the time of `work`.
 *
 * @throws MigrationError N2I-E300 for another Nova, N2I-E302 when another run works on it
 */
export async function withHosts<T>(
  run: RunFolder,
  { database, identity }: Pick<MoveTarget, "database" | "identity">,
  plans: readonly MovePlan[],
  work: (hosts: HostSession) => Promise<T>,
): Promise<T> {
  for (const { manifest } of plans) checkNova(manifest.target, identity);
  const target = createNovaTarget(database, identity, failpoint);
  const lock = await target.lock();
  try {
    return await withSession(run, async (session) => {
      await session.begin("nova", identity);
      const dead = (id: number) => deadHost(plans, id);
      const fence: NovaTarget["perform"] = (steps, hooks) =>
        performFence(database, steps, dead, hooks, failpoint);
      const parts = { rows: rowsPart(target), fence: fencePart(target, fence) };
      return work({ session, target, parts, check: lock.check });
    });
  } finally {
    await lock.release();
  }
}

function deadHost(plans: readonly MovePlan[], id: number) {
  for (const { manifest } of plans) {
    const { report_count = null } = manifest.from.find((one) => one.id === id) ?? {};
    if (report_count !== null) return { id, report_count, down: manifest.service_down_time };
  }
  return undefined;
}

const NOTHING = (): Promise<void> => Promise.resolve();

/**
 * Performs a plan: fences hosts, then moves machines, a transaction for each batch. What is done already is
 * found; a machine of which a row was changed since stays whole, and the others go.
 *
 * @param begun runs before anything is written, when Nova is locked and nothing stands against the plan
 * @throws MigrationError N2I-E316 when a host that machines leave reports, N2I-E317 when a destination is
 *   not fit any more, N2I-E300 when a row is not as planned
 */
export function performMoves(
  run: RunFolder,
  place: MoveTarget,
  plan: MovePlan,
  sink: Sink,
  begun: (session: RunSession) => Promise<void> = NOTHING,
): Promise<HostMoved> {
  const { manifest } = plan;
  return withHosts(run, place, [plan], async ({ session, target, parts, check }) => {
    const world = await place.world();
    await checkPairs(world, plan);
    // Until a host is fenced its count must be what was watched: the fence's own statement goes by it.
    const seen = isEachFenced(manifest, world)
      ? await silentSince(target, place, manifest, sink)
      : manifest.from;
    const watch = async (): Promise<void> => {
      await check();
      await checkDead(target, seen);
    };
    await begun(session);
    const fence = {
      ...fenceLeg(parts.fence, plan),
      ...{ check: watch, precondition: NOTHING },
    };
    const fenced = await execute([fence], session, { direction: "forward" });
    const { part, exclude, drop } = heldUntilBegun(parts.rows, target);
    const rows = { ...rowsLeg(part, plan), ...{ check: watch, precondition: NOTHING, exclude } };
    const moved = await sink.during(
      "host move",
      manifest.counts.machines,
      (progress) => execute([rows], session, { direction: "forward" }, progress).finally(drop),
      ({ done }) => `${counted(done, "row")} changed`,
    );
    if (!moved.stopped) {
      // Whatever of it was cut goes on until then.
      await endPlan(session, plan.sha256);
      if (moved.excluded.length > 0 && moved.done + moved.found === 0) {
        const whys = moved.excluded.map(({ line, why }) => `${line.uuid}: ${why}`);
        throw new MigrationError("N2I-E300", `nothing was moved: ${listed(whys, NAMED, "; ")}`);
      }
    }
    return {
      ...{ fenced: fenced.done, rows: moved.done, found: moved.found, stopped: moved.stopped },
      blocked: manifest.counts.verdicts.blocked,
      left: moved.excluded.map(({ line, why }) => ({ id: `machine:${line.uuid}`, why })),
      hosts: manifest.from.map(({ host }) => host),
    };
  });
}

/** Machines of which a row is neither as it was planned nor as it is to be: nothing of them is moved. */
async function changedMachines(
  { inspect }: NovaTarget,
  steps: readonly NovaStep[],
): Promise<Excluded> {
  const states = new Map((await inspect(steps)).map((state) => [state.id, state]));
  return new Map(
    steps.flatMap(({ id, machine }) => {
      const state = states.get(id);
      if (state?.is !== "other" || machine === null) return [];
      return [[machine, `${id} ${state.why}: all of it stays`] as const];
    }),
  );
}

/**
 * Rows of machines that as a rule are all as planned: their batch is written before it is begun and held in its
 * transaction, which is the look at them, and kept once it is begun. Where one was changed, nothing of it is, and
 * each row is looked at: what changes between that look and the transaction stops its batch.
 */
function heldUntilBegun(
  { perform, ...part }: HostSession["parts"]["rows"],
  target: NovaTarget,
): {
  readonly part: HostSession["parts"]["rows"];
  readonly exclude: (lines: readonly PlannedMove[]) => Promise<Excluded>;
  readonly drop: () => Promise<void>;
} {
  let held: HeldSteps | null = null;
  const drop = async (): Promise<void> => {
    await held?.drop();
    held = null;
  };
  return {
    drop,
    async exclude(lines) {
      await drop();
      const steps = lines.flatMap((line) => line.steps);
      if (steps.length > 0) held = await target.hold(steps);
      return held === null ? changedMachines(target, steps) : new Map();
    },
    part: {
      ...part,
      perform(steps, hooks) {
        if (held === null) return perform(steps, { ...hooks, owned: () => false });
        const { keep } = held;
        held = null;
        return keep(hooks);
      },
    },
  };
}

/** Journal's name of plans that were gone through, whatever of them was left out. */
const ENDED = "host-plan";

async function endPlan({ journal, now, by }: RunSession, id: string): Promise<void> {
  const about = { part: ENDED, id };
  await journal.append({ do: "start", ...about, at: now(), by });
  await journal.append({ do: "end", ...about, at: now() });
}

/** Whether a plan was gone through: what it left out another one takes up. */
export function isThrough({ sha256 }: MovePlan, entries: Entries): boolean {
  return entries.some((entry) => entry.do === "end" && entry.part === ENDED && entry.id === sha256);
}

/** A performed plan, for people. */
export interface HostMoved {
  /** What is counted: machines where each goes by itself. */
  readonly unit?: "machines";
  readonly fenced: number;
  /** Rows of machines changed now, and those that were so already. */
  readonly rows: number;
  readonly found: number;
  /** Machines that something stands against. */
  readonly blocked: number;
  /** Machines that were to move and stayed whole, as somebody changed them since. */
  readonly left: readonly Left[];
  readonly stopped: boolean;
  /** Hosts that machines left. */
  readonly hosts: readonly string[];
}

function isEachFenced({ from }: MovePlan["manifest"], { hosts }: MoveWorld): boolean {
  return from.every(({ id }) => hosts.some((one) => one.id === id && isFenced(one)));
}
