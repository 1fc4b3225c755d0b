import type { Position } from "../../../engine/window-part.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
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
} from "../../rules/legacy-way.ts";
import { type LegacyMachine, moveJson } from "./legacy-begun.ts";
import type { LookedBoot } from "./legacy-boot.ts";

/** Called between two steps: locks are renewed, and a test kills the process. */
export type Between = (point: string) => Promise<void>;

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
  /** Hears of a machine that came to its new host, before its end is recorded. */
  readonly came: (move: LegacyMove) => Promise<void>;
}

/** Both: a nova-compute that starts takes the one away, and an administrator the other. */
function isGuarded({ task_state, locked }: LegacyTenant): boolean {
  return task_state === MIGRATING && locked;
}

/** Keeps Nova from the instance, or lets it be as it was. */
export async function guard(
  { nova }: LegacyHands,
  way: LegacyWay,
  now: LegacyNow,
  undo = false,
): Promise<void> {
  const tenant = liveTenant(way, now);
  if (tenant === null || isGuarded(tenant)) return;
  const step = guardStep(way, tenant);
  await write(nova, [undo ? invert(step) : step]);
}

/** The machine as its new owner has it; null where the comparison was lost. */
export async function claimed(
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
export async function serve(
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
  // Naive UTC, as `deleted_at` has it.
  const at = new Date().toISOString().slice(0, 19).replace("T", " ");
  const computes = [...undone, ...computeSteps(way, rest, await hands.services(), at)];
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

export type Begin = (observed?: JsonObject) => Promise<void>;

export interface LegacyPosition extends Position {
  readonly why: string | null;
}

export function isBack({ move, goal }: LegacyWay): boolean {
  return goal === move.from && move.from !== move.to;
}
