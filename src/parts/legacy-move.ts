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
} from "../core/hosts/legacy-way.ts";
import { fields, malformed } from "../edge/disk/journal.ts";
import type { Begun } from "../engine/begun.ts";
import type { Position, WindowPart } from "../engine/window-part.ts";
import type { BootStep } from "../model/boot.ts";
import { invert } from "../model/change.ts";
import { MigrationError } from "../model/error.ts";
import { isObject, type Json, type JsonObject } from "../model/json.ts";
import {
  type LegacyMove,
  type LegacyNode,
  type LegacyTenant,
  type LegacyTenantMove,
  MIGRATING,
} from "../model/legacy-move.ts";
import type { NovaStep, NovaTarget } from "../model/nova-plan.ts";
import type { NovaService } from "../model/nova-rows.ts";
import { observedOf, stepsOf } from "./boot-steps.ts";
import type { LookedBoot } from "./legacy-boot.ts";

/** Machines of nova-baremetal that go from one compute host to another, as the journal names them. */
export const LEGACY = "host-machines";

/** A machine that is to go, or was begun. */
export interface LegacyMachine {
  /** Uuid of its node. */
  readonly id: string;
  readonly move: LegacyMove;
  /** Changes of compute nodes that the way there made and that cannot be told from the rows. */
  readonly computes: readonly NovaStep[];
  /** Boot files that were made, and the tree they are in; null where none were begun. */
  readonly files: { readonly root: string; readonly steps: readonly BootStep[] } | null;
}

/** Boot files of machines, in the tree of the new host. */
export interface LegacyFiles {
  /** Of the tree. */
  readonly root: string;
  readonly look: (move: LegacyMove) => Promise<LookedBoot>;
  /** @param begin hears of all steps before the first is made */
  readonly build: (
    look: LookedBoot,
    begin: (steps: readonly BootStep[]) => Promise<void>,
  ) => Promise<void>;
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
        // Its rows may be back and its boot files there still: their removal comes last.
        return position.is === "after" && isBack(wayOf(machine)) && machine.files !== null
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
  return (await files.look(move)).why;
}

async function build({ files }: LegacyHands, move: LegacyMove, begin: Begin): Promise<void> {
  if (files === null) return;
  const look = await files.look(move);
  if (look.why !== null) throw new MigrationError("N2I-E300", look.why);
  await files.build(look, (steps) =>
    begin({ move: moveJson(move), tree: files.root, ...observedOf(steps) }),
  );
}

/** The end of its way back: what booted it here is removed. */
async function ended(
  { removeFiles }: LegacyHands,
  { files }: LegacyMachine,
  goal: string,
): Promise<LegacyPosition> {
  const left = files === null ? [] : await removeFiles(files.root, files.steps);
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

function moveJson(move: LegacyMove): JsonObject {
  return { ...move, tenant: move.tenant === null ? null : { ...move.tenant } };
}

/** Machines that were begun, last first: the journal alone says what each was before. @throws MigrationError N2I-E112 */
export function begunMachines(ours: ReadonlyMap<string, Begun>): readonly LegacyMachine[] {
  return [...ours].map(([id, begun]) => machineOf(id, begun)).toReversed();
}

function machineOf(id: string, { observed }: Begun): LegacyMachine {
  const place = `journal, move of ${id}`;
  // The oldest: what a later start saw may be its own doing.
  const [first] = observed;
  if (!isObject(first?.move)) throw malformed(place, "move");
  const computes = observed.findLast((one) => Array.isArray(one.computes))?.computes ?? [];
  const built = observed.filter((one) => "steps" in one);
  const tree = built.at(-1)?.tree;
  if (built.length > 0 && typeof tree !== "string") throw malformed(place, "tree");
  return {
    ...{ id, move: parseMove(first.move, place), computes: stepsIn(computes, place) },
    files:
      typeof tree === "string"
        ? { root: tree, steps: stepsOf(id, { observed: built, open: false }) }
        : null,
  };
}

function parseMove(line: JsonObject, place: string): LegacyMove {
  const { text, number } = fields(line, place);
  const { tenant } = line;
  return {
    ...{ id: number("id"), uuid: text("uuid"), from: text("from"), to: text("to") },
    ...{ epoch: number("epoch"), begun: line.begun === true },
    ...{ before: orNone(line, "before", place), after: orNone(line, "after", place) },
    tenant: isObject(tenant) ? parseTenant(tenant, place) : null,
    boots: line.boots === true,
  };
}

function parseTenant(line: JsonObject, place: string): LegacyTenantMove {
  const { text, number } = fields(line, `${place} tenant`);
  return {
    ...{ id: number("id"), uuid: text("uuid"), node: text("node"), host: text("host") },
    ...{ locked: line.locked === true, task_state: orNone(line, "task_state", place) },
    ...{ before: orNone(line, "before", place), after: orNone(line, "after", place) },
  };
}

function orNone(line: JsonObject, name: string, place: string): string | null {
  const value = line[name];
  if (value === null || typeof value === "string") return value;
  throw malformed(place, name);
}

/** Steps on compute nodes alone: the way back of a move writes nothing else of a journal. */
function stepsIn(value: Json, place: string): readonly NovaStep[] {
  if (!Array.isArray(value)) throw malformed(place, "computes");
  const steps = value as readonly Json[];
  for (const step of steps) {
    if (!isObject(step) || step.table !== "compute_nodes" || !isObject(step.key))
      throw malformed(place, "computes");
    if (!isObject(step.before) || !isObject(step.after)) throw malformed(place, "computes");
    fields(step.key, place).number("id");
    fields(step, place).text("id");
  }
  return steps as readonly object[] as readonly NovaStep[]; // looked at
}
