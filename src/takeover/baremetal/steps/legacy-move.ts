import type { Position, WindowPart } from "../../../engine/window-part.ts";
import { MigrationError } from "../../../lib/error.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import { observedOf } from "../../../migrate/boot/boot-steps.ts";
import type { BootStep } from "../../../model/boot.ts";
import { invert } from "../../../model/change.ts";
import type { MovedPort } from "../../../model/ironic/port-place.ts";
import {
  type LegacyMove,
  type LegacyNode,
  type LegacyTenant,
  MIGRATING,
} from "../../../model/nova/legacy-move.ts";
import type { NovaStep, NovaTarget } from "../../../model/nova/nova-plan.ts";
import type { NovaService } from "../../../model/nova/nova-rows.ts";
import {
  computeSteps,
  guardStep,
  type LegacyNow,
  type LegacyWay,
  liveTenant,
  servedStep,
  standing,
  wayBack,
  wayThere,
} from "../../rules/legacy-way.ts";
import { LEGACY, type LegacyMachine, moveJson } from "./legacy-begun.ts";
import type { LookedBoot } from "./legacy-boot.ts";

/** Boot files of machines, in the tree of the new host. */
export interface LegacyFiles {
  /** Of the tree. */
  readonly root: string;
  readonly look: (move: LegacyMove) => Promise<LookedBoot>;
  /** Brings what is to be copied. @returns why it cannot be had */
  readonly bring: (look: LookedBoot) => Promise<string | null>;
  /** @param begin hears of all steps before the first is made */
  readonly build: (
    look: LookedBoot,
    begin: (steps: readonly BootStep[]) => Promise<void>,
  ) => Promise<void>;
}

/** Neutron's ports of machines. */
export interface LegacyPorts {
  /** Those that are to name its new host, as they are; none where nobody can change them. */
  readonly look: (move: LegacyMove) => Promise<readonly MovedPort[]>;
  /** Lets them name it; what Neutron refuses is said, and keeps no machine. */
  readonly change: (move: LegacyMove, ports: readonly MovedPort[]) => Promise<void>;
  /** Lets them be as they were. @returns what stays, and why */
  readonly restore: (move: LegacyMove, ports: readonly MovedPort[]) => Promise<readonly string[]>;
}

interface LegacyPosition extends Position {
  readonly why: string | null;
}

/** Called between two steps: locks are renewed, and a test kills the process. */
type Between = (point: string) => Promise<void>;

/** What a move has of nova_bm and of Nova. */
export interface LegacyHands {
  /** What both hold of machines, in their order. */
  readonly look: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>;
  readonly nova: Pick<NovaTarget, "inspect" | "perform">;
  readonly claim: (seen: LegacyNode, to: string, prev: string | null) => Promise<number | null>;
  readonly release: (seen: LegacyNode, task_state: string | null) => Promise<boolean>;
  readonly services: () => Promise<readonly NovaService[]>;
  /**
   * Holds the locks of a machine and of its instance for the time of `work`.
   *
   * @returns why not, where another holds one
   */
  readonly holding: (
    move: LegacyMove,
    work: (between: Between) => Promise<LegacyPosition>,
  ) => Promise<LegacyPosition | string>;
  /** Null where no tree of the new host was given. */
  readonly files: LegacyFiles | null;
  readonly ports: LegacyPorts;
  /** Takes boot files back from the tree the journal names. @returns what stayed, and why */
  readonly removeFiles: (root: string, steps: readonly BootStep[]) => Promise<readonly string[]>;
  /** Hears of a machine that came to its new host, before its end is recorded. */
  readonly came: (move: LegacyMove) => Promise<void>;
  /** Naive UTC, as `deleted_at` has it. */
  readonly at: () => string;
}

type Begin = (observed?: JsonObject) => Promise<void>;

/** Takes machines to their new host, each whole: guard, claim, rows of Nova, release. @source systems.md A5 */
export function legacyPart(hands: LegacyHands): WindowPart<LegacyMachine, LegacyPosition> {
  return partOf(hands, ({ move }) => wayThere(move));
}

/** Takes them back, as far as each came. */
export function legacyBackPart(hands: LegacyHands): WindowPart<LegacyMachine, LegacyPosition> {
  return partOf(hands, ({ move }) => wayBack(move));
}

function partOf(
  hands: LegacyHands,
  wayOf: (machine: LegacyMachine) => LegacyWay,
): WindowPart<LegacyMachine, LegacyPosition> {
  return {
    ...{ name: LEGACY, size: 100 },
    async inspect(machines) {
      const now = await hands.look(machines.map(({ move }) => move));
      return machines.map((machine, at) => {
        const seen = now[at];
        if (seen === undefined) throw new Error(`nobody looked at ${machine.id}`);
        const position = positionOf(wayOf(machine), seen);
        // Its rows may be back, and its boot files and ports not: they come last.
        const more = machine.files !== null || machine.ports.length > 0;
        return position.is === "after" && isBack(wayOf(machine)) && more
          ? { ...position, is: "before" }
          : position;
      });
    },
    async perform(machine, _, begin) {
      const way = wayOf(machine);
      const held = await hands.holding(machine.move, (between) =>
        drive(hands, way, machine, { between, begin }),
      );
      return typeof held === "string" ? { is: "waiting", why: held } : held;
    },
  };
}

function positionOf(way: LegacyWay, now: LegacyNow): LegacyPosition {
  const stands = standing(way, now);
  return { is: stands.is, why: stands.is === "other" ? stands.why : null };
}

interface Driving {
  readonly between: Between;
  readonly begin: Begin;
}

/** From wherever it is to the end of its way: each step compares what it replaces. */
async function drive(
  hands: LegacyHands,
  way: LegacyWay,
  machine: LegacyMachine,
  { between, begin }: Driving,
): Promise<LegacyPosition> {
  const { move, goal } = way;
  const look = async (): Promise<LegacyNow> => {
    const [now] = await hands.look([move]);
    if (now === undefined) throw new Error(`nobody looked at ${move.uuid}`);
    return now;
  };
  const first = await look();
  const stands = positionOf(way, first);
  if (stands.is === "other") return stands;
  const back = isBack(way);
  const blind = back || !move.boots ? null : await bootFault(hands, move);
  if (blind !== null) return { is: "other", why: blind };
  await begin(back ? undefined : { move: moveJson(move) });
  const arrived = async (): Promise<LegacyPosition> => {
    if (back) return ended(hands, machine, goal);
    await hands.came(move);
    return { is: "after", why: null };
  };
  if (stands.is === "after") return arrived();
  try {
    await guard(hands, way, first);
    await between("legacy.guarded");
    const node = await claimed(hands, way, first);
    if (node === null) {
      await unguard(hands, way, first);
      return { is: "other", why: lostClaim(move, goal) };
    }
    await between("legacy.claimed");
    if (!back && move.boots) await build(hands, move, begin);
    await between("legacy.built");
    if (!back && move.boots) await rehome(hands, move, begin);
    await between("legacy.ported");
    await serve(hands, way, machine, { now: await look(), begin });
    await between("legacy.served");
    if (node.task_state === MIGRATING && !(await hands.release(node, way.ends)))
      return { is: "other", why: `bm_nodes.id=${move.id} was changed while it was moved` };
    await between("legacy.released");
    return await arrived();
  } catch (cause) {
    // A row that Nova changed in between: the machine is left as it is, and others go on.
    if (cause instanceof MigrationError && cause.code === "N2I-E300")
      return { is: "other", why: `${cause.message}: it is half way; run the same command again` };
    throw cause;
  }
}

function lostClaim({ id }: LegacyMove, goal: string): string {
  return `bm_nodes.id=${id} was not claimed: it is another's by now, its host lives, or ${goal} is fenced`;
}

/** Why its boot files cannot be made, before anything of it is changed. */
async function bootFault({ files }: LegacyHands, move: LegacyMove): Promise<string | null> {
  if (files === null) return "its boot files are to be made: give --tftp-root";
  const look = await files.look(move);
  return look.why ?? files.bring(look);
}

/** Ports are told of their new host once its files are there, and the journal of what they said before. */
async function rehome({ ports }: LegacyHands, move: LegacyMove, begin: Begin): Promise<void> {
  const moved = await ports.look(move);
  if (moved.length === 0) return;
  await begin({ move: moveJson(move), ports: moved as readonly object[] as Json });
  await ports.change(move, moved);
}

async function build({ files }: LegacyHands, move: LegacyMove, begin: Begin): Promise<void> {
  if (files === null) return;
  const look = await files.look(move);
  if (look.why !== null) throw new MigrationError("N2I-E300", look.why);
  await files.build(look, (steps) =>
    begin({ move: moveJson(move), tree: files.root, ...observedOf(steps) }),
  );
}

/** The end of its way back: its ports are as they were, and what booted it here is removed. */
async function ended(
  { removeFiles, ports }: LegacyHands,
  { files, move, ports: moved }: LegacyMachine,
  goal: string,
): Promise<LegacyPosition> {
  const still = moved.length === 0 ? [] : await ports.restore(move, moved);
  const left = [...still, ...(files === null ? [] : await removeFiles(files.root, files.steps))];
  return left.length === 0
    ? { is: "after", why: null }
    : { is: "other", why: `it is ${goal}'s again; ${left.join("; ")}` };
}

function isBack({ move, goal }: LegacyWay): boolean {
  return goal === move.from && move.from !== move.to;
}

/** Both: a nova-compute that starts takes the one away, and an administrator the other. */
function isGuarded({ task_state, locked }: LegacyTenant): boolean {
  return task_state === MIGRATING && locked;
}

async function guard({ nova }: LegacyHands, way: LegacyWay, now: LegacyNow): Promise<void> {
  const tenant = liveTenant(way, now);
  if (tenant === null || isGuarded(tenant)) return;
  await write(nova, [guardStep(way, tenant)]);
}

async function unguard({ nova }: LegacyHands, way: LegacyWay, now: LegacyNow): Promise<void> {
  const tenant = liveTenant(way, now);
  if (tenant === null || isGuarded(tenant)) return;
  await write(nova, [invert(guardStep(way, tenant))]);
}

/** The machine as its new owner has it; null where the comparison was lost. */
async function claimed(
  { claim }: LegacyHands,
  way: LegacyWay,
  { node }: LegacyNow,
): Promise<LegacyNode | null> {
  const { move, goal } = way;
  if (node === null) return null;
  if (node.service_host === goal) return node;
  const prev = isBack(way) ? move.before : move.after;
  const epoch = await claim(node, goal, prev);
  if (epoch === null) return null;
  const owned = { service_host: goal, service_epoch: epoch, task_state: MIGRATING };
  return { ...node, ...owned, prev_task_state: prev };
}

/** Compute nodes and the instance's host, and its guard away, in one transaction. */
async function serve(
  hands: LegacyHands,
  way: LegacyWay,
  { computes: made }: LegacyMachine,
  { now, begin }: { readonly now: LegacyNow; readonly begin: Begin },
): Promise<void> {
  const { move, goal } = way;
  const back = isBack(way);
  const tenant = liveTenant(way, now);
  const undone = back ? await asMade(hands, made) : [];
  const rest = { ...now, computes: [...returned(undone, goal), ...others(now, undone)] };
  const computes = [...undone, ...computeSteps(way, rest, await hands.services(), hands.at())];
  // A row that goes away for one that was there is told by nothing but the journal.
  if (!back && computes.some(({ after }) => after?.deleted !== 0))
    await begin({ move: moveJson(move), computes: computes as readonly object[] as Json });
  // It was guarded: where Nova changed that since, the comparison is lost, and nothing is written.
  const served = tenant === null ? [] : [servedStep(way, tenant, now.node)];
  const steps = [...computes, ...served];
  if (steps.length > 0) await write(hands.nova, steps);
}

/** The way back of what was made, where all of it is still so; none where what is there has to decide. */
async function asMade(
  { nova }: LegacyHands,
  made: readonly NovaStep[],
): Promise<readonly NovaStep[]> {
  if (made.length === 0) return [];
  const states = await nova.inspect(made);
  return states.every(({ is }) => is === "after") ? made.map(invert) : [];
}

/** Rows that live under the goal once these steps are done. */
function returned(steps: readonly NovaStep[], goal: string): LegacyNow["computes"] {
  return steps.flatMap(({ key, after }) =>
    after?.deleted !== 0 || typeof key.id !== "number"
      ? []
      : [
          {
            ...{ id: key.id, owner: goal, hypervisor_type: null, deleted: 0 },
            service_id: typeof after.service_id === "number" ? after.service_id : null,
            ...(typeof after.host === "string" && { host: after.host }),
            ...{ hypervisor_hostname: String(after.hypervisor_hostname), deleted_at: null },
          },
        ],
  );
}

/** Live rows that no step is about. */
function others({ computes }: LegacyNow, steps: readonly NovaStep[]): LegacyNow["computes"] {
  return computes.filter(({ id }) => !steps.some(({ key }) => key.id === id));
}

async function write(nova: LegacyHands["nova"], steps: readonly NovaStep[]): Promise<void> {
  await nova.perform(steps, {
    owned: () => false,
    precondition: () => Promise.resolve(),
    observed: () => Promise.resolve(),
  });
}
