import type { Position } from "../../../engine/window-part.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import { invert } from "../../../model/change.ts";
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
  type LegacyTransition,
  liveTenant,
  servedStep,
} from "../../rules/legacy-states.ts";
import type { LegacyFiles } from "../legacy-boots.ts";
import type { Ports } from "../legacy-ports.ts";
import { type LegacyMachine, moveJson } from "./legacy-started.ts";

/** Called between steps to renew locks. Tests kill the process there. */
export type Between = (point: string) => Promise<void>;

export interface LegacyDeps {
  readonly look: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>;
  readonly nova: Pick<NovaTarget, "inspect" | "perform">;
  readonly claim: (node: LegacyNode, to: string, prev: string | null) => Promise<number | null>;
  readonly release: (node: LegacyNode, task_state: string | null) => Promise<boolean>;
  readonly services: () => Promise<readonly NovaService[]>;
  /** Locks the machine and its instance. @returns a text if another process has a lock */
  readonly holding: (
    move: LegacyMove,
    work: (between: Between) => Promise<LegacyPosition>,
  ) => Promise<LegacyPosition | string>;
  /** Null without a tree of the new host. */
  readonly files: LegacyFiles | null;
  readonly ports: Ports;
  readonly onMoved: (move: LegacyMove) => Promise<void>;
}

/** Both are needed: a starting nova-compute clears task_state, an administrator may unlock. */
function isGuarded({ task_state, locked }: LegacyTenant): boolean {
  return task_state === MIGRATING && locked;
}

export async function guard(
  { nova }: LegacyDeps,
  transition: LegacyTransition,
  now: LegacyNow,
  undo = false,
): Promise<void> {
  const tenant = liveTenant(transition, now);
  if (tenant === null || isGuarded(tenant)) return;
  const step = guardStep(transition, tenant);
  await write(nova, [undo ? invert(step) : step]);
}

export async function serve(
  deps: LegacyDeps,
  transition: LegacyTransition,
  { computes: made }: LegacyMachine,
  now: LegacyNow,
  begin: Begin,
): Promise<void> {
  const { move, goal } = transition;
  const back = isBack(transition);
  const tenant = liveTenant(transition, now);
  const undone = back ? await asMade(deps, made) : [];
  const rest = { ...now, computes: [...returned(undone, goal), ...unchanged(now, undone)] };
  // Naive UTC, as in `deleted_at`.
  const at = new Date().toISOString().slice(0, 19).replace("T", " ");
  const computes = [...undone, ...computeSteps(transition, rest, await deps.services(), at)];
  // Only the journal identifies a row that was deleted in favor of an existing one.
  if (!back && computes.some(({ after }) => after?.deleted !== 0))
    await begin({ move: moveJson(move), computes: computes as readonly object[] as Json });
  // If Nova has changed the guard in the meantime, the comparison fails and nothing is written.
  const served = tenant === null ? [] : [servedStep(transition, tenant, now.node)];
  const steps = [...computes, ...served];
  if (steps.length > 0) await write(deps.nova, steps);
}

/** The inverse of the saved changes if all rows are unchanged, otherwise empty. */
async function asMade(
  { nova }: LegacyDeps,
  made: readonly NovaStep[],
): Promise<readonly NovaStep[]> {
  if (made.length === 0) return [];
  const states = await nova.inspect(made);
  return states.every(({ is }) => is === "after") ? made.map(invert) : [];
}

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

function unchanged({ computes }: LegacyNow, steps: readonly NovaStep[]): LegacyNow["computes"] {
  return computes.filter(({ id }) => !steps.some(({ key }) => key.id === id));
}

async function write(nova: LegacyDeps["nova"], steps: readonly NovaStep[]): Promise<void> {
  await nova.perform(steps, {
    owned: () => false,
    precondition: () => Promise.resolve(),
    observed: () => Promise.resolve(),
  });
}

export type Begin = (observed?: JsonObject) => Promise<void>;

export interface LegacyPosition extends Position {
  readonly reason: string | null;
}

export function isBack({ move, goal }: LegacyTransition): boolean {
  return goal === move.from && move.from !== move.to;
}
