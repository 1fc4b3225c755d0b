import type { Position, WindowPart } from "../../../engine/window-part.ts";
import { MigrationError } from "../../../lib/error.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { invert } from "../../../model/change.ts";
import { type LegacyMove, type LegacyNode, MIGRATING } from "../../../model/nova/legacy-move.ts";
import type { NovaStep, NovaTarget } from "../../../model/nova/nova-plan.ts";
import type { RunSession } from "../../../run/session.ts";
import { readServices } from "../../../systems/nova-db/services.ts";
import { claimNode, releaseNode } from "../../leases/nodes.ts";
import {
  computeSteps,
  guardStep,
  type LegacyNow,
  type LegacyTransition,
  liveTenant,
  moveState,
  servedStep,
} from "../../rules/legacy-states.ts";
import type { LegacyClients } from "../legacy-clients.ts";
import { removeBoot } from "./legacy-boot.ts";
import { LEGACY, type LegacyMachine } from "./legacy-started.ts";

/** Called between steps to renew locks. Tests kill the process there. */
type Between = (point: string) => Promise<void>;

export interface LegacyDeps extends LegacyClients {
  readonly session: RunSession;
  readonly nova: NovaTarget;
  readonly claiming: Pick<Parameters<typeof claimNode>[2], "silent" | "agent">;
  /** Locks the machine and its instance. @returns a text if another process has a lock */
  readonly withLock: (
    move: LegacyMove,
    work: (between: Between) => Promise<LegacyPosition>,
  ) => Promise<LegacyPosition | string>;
  /** Called again after an interruption before the end is in the journal. */
  readonly onMoved: (move: LegacyMove) => Promise<void>;
}

interface LegacyPosition extends Position {
  readonly reason: string | null;
}

const AFTER: LegacyPosition = { is: "after", reason: null };

function otherwise(reason: string): LegacyPosition {
  return { is: "other", reason };
}

/**
 * Guard, claim, Nova's rows, release; or a rollback from any step.
 *
 * @param check runs before each machine
 * @source systems.md A5
 */
export function legacyPart(
  deps: LegacyDeps,
  transitionTo: (move: LegacyMove) => LegacyTransition,
  check: () => Promise<void>,
): WindowPart<LegacyMachine, LegacyPosition> {
  return {
    ...{ name: LEGACY, size: 100 },
    async inspect(machines) {
      const now = await deps.read(machines.map(({ move }) => move));
      return machines.map((machine, at) => {
        const current = now[at];
        if (current === undefined) throw new Error(`no reading of ${machine.id}`);
        const transition = transitionTo(machine.move);
        const position = moveState(transition, current);
        // Boot files and ports are restored after the rows.
        const more = transition.back && (machine.files !== null || machine.ports.length > 0);
        return position.is === "after" && more ? { ...position, is: "before" } : position;
      });
    },
    async perform(machine, _, begin) {
      await check();
      const outcome = await deps.withLock(machine.move, (between) =>
        drive(deps, transitionTo(machine.move), machine, between, begin),
      );
      return typeof outcome === "string" ? { is: "waiting", reason: outcome } : outcome;
    },
  };
}

type Begin = (observed?: object) => Promise<void>;

async function drive(
  deps: LegacyDeps,
  transition: LegacyTransition,
  machine: LegacyMachine,
  between: Between,
  start: (observed?: JsonObject) => Promise<void>,
): Promise<LegacyPosition> {
  const { leases, ports } = deps;
  const { files } = deps.boots;
  const { move, goal, back } = transition;
  const boots = !back && move.boots;
  const read = async (): Promise<LegacyNow> => {
    const [now] = await deps.read([move]);
    if (now === undefined) throw new Error(`no reading of ${move.uuid}`);
    return now;
  };
  // Only JSON values, which the cast does not check.
  const begin: Begin = (more = {}) => start({ move, ...more } as object as JsonObject);
  const arrived = async (): Promise<LegacyPosition> => {
    if (back) return ended(deps, machine, goal);
    await deps.onMoved(move);
    return AFTER;
  };
  const first = await read();
  const state = moveState(transition, first);
  if (state.is === "other") return state;
  if (boots) {
    const missing = "its boot files must be created: pass --tftp-root";
    const fault = files === null ? missing : await files.fault(move);
    if (fault !== null) return otherwise(fault);
  }
  await (back ? start() : begin());
  if (state.is === "after") return arrived();
  try {
    await guard(deps, transition, first);
    await between("legacy.guarded");
    const node = await claimed(deps, transition, first);
    if (node === null) {
      await guard(deps, transition, first, true);
      return otherwise(
        `bm_nodes.id=${move.id} was not claimed: it belongs to another host now, its host is up, or ${goal} is fenced`,
      );
    }
    await between("legacy.claimed");
    if (boots) await files?.build(move, (steps) => begin({ tree: files.root, steps }));
    await between("legacy.built");
    const moved = boots ? await ports.read(move) : [];
    if (moved.length > 0) {
      // The files exist, and the journal has the former values.
      await begin({ ports: moved });
      await ports.change(move, moved);
    }
    await between("legacy.ported");
    await serve(deps, transition, machine, await read(), begin);
    await between("legacy.served");
    if (node.task_state === MIGRATING && !(await releaseNode(leases, node, transition.ends)))
      return otherwise(`bm_nodes.id=${move.id} was changed while it was moved`);
    await between("legacy.released");
    return await arrived();
  } catch (cause) {
    // Nova changed a row. The machine is skipped, and the others continue.
    if (cause instanceof MigrationError && cause.code === "N2I-E300")
      return otherwise(`${cause.message}: its move is unfinished. Run the same command again`);
    throw cause;
  }
}

async function guard(
  { nova }: LegacyDeps,
  transition: LegacyTransition,
  now: LegacyNow,
  undo = false,
): Promise<void> {
  const tenant = liveTenant(transition, now);
  // Both are needed: a starting nova-compute clears one, an administrator the other.
  if (tenant === null || (tenant.task_state === MIGRATING && tenant.locked)) return;
  const step = guardStep(transition, tenant);
  await write(nova, [undo ? invert(step) : step]);
}

/** The machine with its new owner; null if its row has changed. */
async function claimed(
  { leases, claiming }: LegacyDeps,
  { move, goal, back }: LegacyTransition,
  { node }: LegacyNow,
): Promise<LegacyNode | null> {
  if (node === null || node.service_host === goal) return node;
  const prev_task_state = back ? move.before : move.after;
  const epoch = await claimNode(leases, node, { to: goal, prev: prev_task_state, ...claiming });
  if (epoch === null) return null;
  const owned = { service_host: goal, service_epoch: epoch, task_state: MIGRATING };
  return { ...node, ...owned, prev_task_state };
}

async function serve(
  { nova, database }: LegacyDeps,
  transition: LegacyTransition,
  { computes: made }: LegacyMachine,
  now: LegacyNow,
  begin: Begin,
): Promise<void> {
  const { goal, back } = transition;
  const tenant = liveTenant(transition, now);
  const states = back && made.length > 0 ? await nova.inspect(made) : [];
  // The saved changes are inverted if all rows are unchanged.
  const isAsMade = states.length > 0 && states.every(({ is }) => is === "after");
  const undone = isAsMade ? made.map(invert) : [];
  const unchanged = now.computes.filter(({ id }) => !undone.some(({ key }) => key.id === id));
  const rest = { ...now, computes: [...returned(undone, goal), ...unchanged] };
  // Naive UTC, as in `deleted_at`.
  const at = new Date().toISOString().slice(0, 19).replace("T", " ");
  const services = await readServices(database);
  const computes = [...undone, ...computeSteps(transition, rest, services, at)];
  // Only the journal identifies a row that was deleted in favor of an existing one.
  if (!back && computes.some(({ after }) => after?.deleted !== 0)) await begin({ computes });
  // If Nova has changed the guard in the meantime, the comparison fails and nothing is written.
  const served = tenant === null ? [] : [servedStep(transition, tenant, now.node)];
  await write(nova, [...computes, ...served]);
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

async function write(nova: NovaTarget, steps: readonly NovaStep[]): Promise<void> {
  if (steps.length === 0) return;
  await nova.perform(steps, {
    owned: () => false,
    precondition: () => Promise.resolve(),
    observed: () => Promise.resolve(),
  });
}

async function ended(
  { ports }: LegacyDeps,
  { files, move, ports: moved }: LegacyMachine,
  goal: string,
): Promise<LegacyPosition> {
  const failed = moved.length === 0 ? [] : await ports.restore(move, moved);
  const faults = [...failed, ...(files === null ? [] : await removeBoot(files.root, files.steps))];
  return faults.length === 0
    ? AFTER
    : otherwise(`it belongs to ${goal} again; ${faults.join("; ")}`);
}
