import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import type { Walked } from "../engine/runner.ts";
import { MigrationError } from "../lib/error.ts";
import { listed, NAMED } from "../lib/text.ts";
import { rowsPart } from "../migrate/apply/nova.ts";
import { checkNova } from "../migrate/hosts/nova-place.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import type { Left } from "../model/change.ts";
import { blocks } from "../model/finding.ts";
import type { Entries } from "../model/journal.ts";
import type { LeftHost, PlannedMove } from "../model/nova/host-move.ts";
import type { HeldSteps, NovaStep, NovaTarget } from "../model/nova/nova-plan.ts";
import { failpoint } from "../run/failpoint.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import type { MovePlan } from "../run/host-files.ts";
import { type RunSession, withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { performFence } from "../systems/nova-db/fence.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { watchHost } from "./host-watch.ts";
import type { HostPlace } from "./host-world.ts";
import { createMoves, isFenced, type MoveAsked, type MoveWorld } from "./rules/moves.ts";
import { fenceLeg, fencePart, rowsLeg } from "./steps/host-move.ts";

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
  { database, identity }: Pick<HostPlace, "database" | "identity">,
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

/** What a plan did. */
interface PerformedMove {
  readonly fenced: Walked<unknown>;
  readonly moved: Walked<PlannedMove>;
}

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
  place: HostPlace,
  plan: MovePlan,
  sink: Sink,
  begun: (session: RunSession) => Promise<void> = NOTHING,
): Promise<PerformedMove> {
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
      ...fenceLeg(parts.fence, { sha256: plan.sha256, fence: manifest.fence }),
      ...{ check: watch, precondition: NOTHING },
    };
    const fenced = await execute([fence], session, { direction: "forward" });
    const { part, exclude, drop } = heldUntilBegun(parts.rows, target);
    const rows = { ...rowsLeg(part, plan), ...{ check: watch, precondition: NOTHING, exclude } };
    const moved = await sink.during(
      "host move",
      manifest.counts.machines,
      (progress) => execute([rows], session, { direction: "forward" }, progress).finally(drop),
      ({ done }) => `${done} rows changed`,
    );
    if (!moved.stopped) {
      // Whatever of it was cut goes on until then.
      await endPlan(session, plan.sha256);
      if (!isAny(moved)) throw nothingMoved(moved);
    }
    return { fenced, moved };
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

/** Whether not every machine was left out. */
function isAny({ done, found, excluded }: Walked<PlannedMove>): boolean {
  return excluded.length === 0 || done + found > 0;
}

function nothingMoved({ excluded }: Walked<PlannedMove>): MigrationError {
  const whys = excluded.map(({ line, why }) => `${line.uuid}: ${why}`);
  return new MigrationError("N2I-E300", `nothing was moved: ${listed(whys, NAMED, "; ")}`);
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

export function movedOf({ manifest }: MovePlan, { fenced, moved }: PerformedMove): HostMoved {
  return {
    ...{ fenced: fenced.done, rows: moved.done, found: moved.found, stopped: moved.stopped },
    blocked: manifest.counts.verdicts.blocked,
    left: moved.excluded.map(({ line, why }) => ({ id: `machine:${line.uuid}`, why })),
    hosts: manifest.from.map(({ host }) => host),
  };
}

function isEachFenced({ from }: MovePlan["manifest"], { hosts }: MoveWorld): boolean {
  return from.every(({ id }) => hosts.some((one) => one.id === id && isFenced(one)));
}

/**
 * Hosts as they report now, once each was seen to stand still for as long as Nova takes to call one down: an
 * age alone is the word of their own clock. What passed since the plan counts where nothing was reported in
 * it; a takeover's hosts were watched before it.
 *
 * @throws MigrationError N2I-E316 when one reports meanwhile
 */
export async function silentSince(
  target: NovaTarget,
  place: Pick<HostPlace, "database">,
  { mode, from, looked_at, service_down_time: down }: MovePlan["manifest"],
  sink: Pick<Sink, "say">,
): Promise<readonly LeftHost[]> {
  const beats = await target.beats(from.map(({ host }) => host));
  const passed = (Date.now() - Date.parse(looked_at)) / 1000;
  // A clock that was set back: nothing is known to have passed.
  const rest = mode === "takeover" ? 0 : passed >= 0 ? down - passed : down;
  const waits = beats.map((beat) => {
    const was = from.find(({ id }) => id === beat.id);
    return { host: beat.host, seconds: hasReported(was, beat) ? down : rest };
  });
  await Promise.all(
    waits
      .filter(({ seconds }) => seconds > 0)
      .map(({ host, seconds }) => watchHost(place, host, seconds, sink)),
  );
  return beats;
}

/** @throws MigrationError N2I-E316 */
export async function checkDead(target: NovaTarget, seen: readonly LeftHost[]): Promise<void> {
  const now = await target.beats(seen.map(({ host }) => host));
  const alive = now.filter(({ id, report_count, last_seen_up }) => {
    const was = seen.find((one) => one.id === id);
    // A row that is new says that its nova-compute started. Before Liberty nothing but the count tells.
    return hasReported(was && { ...was, last_seen_up }, { report_count, last_seen_up });
  });
  if (alive.length === 0) return;
  const names = alive.map(({ host, age }) => `${host} ${age} s ago`);
  throw new MigrationError("N2I-E316", `nova-compute reported from ${listed(names, NAMED)}`);
}

/**
 * Looks once more at the hosts of machines that are to move.
 *
 * @throws MigrationError N2I-E317 saying what stands against them
 */
export async function checkPairs(world: MoveWorld, { manifest, lines }: MovePlan): Promise<void> {
  const { mode, to, service_down_time: down, nova_bm } = manifest;
  // The plan held aggregates against its machines, or was told not to.
  const driver = nova_bm === undefined ? {} : { driver: "baremetal" as const };
  const asked: MoveAsked = { mode, to, down, forceAggregates: true, reason: "", ...driver };
  const moves = createMoves(world, asked, () => []);
  const pairs = new Set<string>();
  for await (const batch of lines())
    for (const { verdict, from, to } of batch)
      if (verdict === "move" && from !== to) pairs.add(JSON.stringify([from, to]));
  const against = [...pairs].flatMap((pair) => {
    const [from = "", to = ""] = JSON.parse(pair) as readonly string[]; // as it was just written
    return moves.judged(from, to).filter(blocks);
  });
  const texts = [...new Set(against.map(({ place, message }) => `${message} (${place})`))];
  if (texts.length > 0) throw new MigrationError("N2I-E317", listed(texts, NAMED, "; "));
}
