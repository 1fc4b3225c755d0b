import type { Position, WindowPart } from "../../../engine/window-part.ts";
import { MigrationError } from "../../../lib/error.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import { observedOf } from "../../../migrate/boot/boot-steps.ts";
import { invert } from "../../../model/change.ts";
import { type LegacyMove, type LegacyNode, MIGRATING } from "../../../model/nova/legacy-move.ts";
import type { NovaStep, NovaTarget } from "../../../model/nova/nova-plan.ts";
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
import { LEGACY, type LegacyMachine, moveJson } from "./legacy-started.ts";

/** Called between steps to renew locks. Tests kill the process there. */
type Between = (point: string) => Promise<void>;

export interface LegacyDeps extends LegacyClients {
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

async function serve(
  deps: LegacyDeps,
  transition: LegacyTransition,
  { computes: made }: LegacyMachine,
  now: LegacyNow,
  begin: Begin,
): Promise<void> {
  const { move, goal, back } = transition;
  const tenant = liveTenant(transition, now);
  const undone = back && made.length > 0 ? await asMade(deps, made) : [];
  const unchanged = now.computes.filter(({ id }) => !undone.some(({ key }) => key.id === id));
  const rest = { ...now, computes: [...returned(undone, goal), ...unchanged] };
  // Naive UTC, as in `deleted_at`.
  const at = new Date().toISOString().slice(0, 19).replace("T", " ");
  const services = await readServices(deps.database);
  const computes = [...undone, ...computeSteps(transition, rest, services, at)];
  // Only the journal identifies a row that was deleted in favor of an existing one.
  if (!back && computes.some(({ after }) => after?.deleted !== 0))
    await begin({ move: moveJson(move), computes: computes as readonly object[] as Json });
  // If Nova has changed the guard in the meantime, the comparison fails and nothing is written.
  const served = tenant === null ? [] : [servedStep(transition, tenant, now.node)];
  const steps = [...computes, ...served];
  if (steps.length > 0) await write(deps.nova, steps);
}

/** The inverse of the saved changes if all rows are unchanged, otherwise empty. */
async function asMade({ nova }: LegacyDeps, made: readonly NovaStep[]) {
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

async function write(nova: LegacyDeps["nova"], steps: readonly NovaStep[]): Promise<void> {
  await nova.perform(steps, {
    owned: () => false,
    precondition: () => Promise.resolve(),
    observed: () => Promise.resolve(),
  });
}

type Begin = (observed?: JsonObject) => Promise<void>;

export interface LegacyPosition extends Position {
  readonly reason: string | null;
}

/** Guard, claim, Nova's rows, release; or a rollback from any step. @source systems.md A5 */
export function legacyPart(
  deps: LegacyDeps,
  transitionTo: (move: LegacyMove) => LegacyTransition,
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
      const outcome = await deps.withLock(machine.move, (between) =>
        drive(deps, transitionTo(machine.move), machine, between, begin),
      );
      return typeof outcome === "string" ? { is: "waiting", reason: outcome } : outcome;
    },
  };
}

async function drive(
  deps: LegacyDeps,
  transition: LegacyTransition,
  machine: LegacyMachine,
  between: Between,
  begin: Begin,
): Promise<LegacyPosition> {
  const { move, goal, back } = transition;
  const read = async (): Promise<LegacyNow> => {
    const [now] = await deps.read([move]);
    if (now === undefined) throw new Error(`no reading of ${move.uuid}`);
    return now;
  };
  const first = await read();
  const state = moveState(transition, first);
  if (state.is === "other") return state;
  const blind = back || !move.boots ? null : await bootFault(deps, move);
  if (blind !== null) return { is: "other", reason: blind };
  await begin(back ? undefined : { move: moveJson(move) });
  const arrived = async (): Promise<LegacyPosition> => {
    if (back) return ended(deps, machine, goal);
    await deps.onMoved(move);
    return { is: "after", reason: null };
  };
  if (state.is === "after") return arrived();
  try {
    await guard(deps, transition, first);
    await between("legacy.guarded");
    const node = await claimed(deps, transition, first);
    if (node === null) {
      await guard(deps, transition, first, true);
      const reason = `bm_nodes.id=${move.id} was not claimed: it belongs to another host now, its host is up, or ${goal} is fenced`;
      return { is: "other", reason };
    }
    await between("legacy.claimed");
    if (!back && move.boots) await build(deps, move, begin);
    await between("legacy.built");
    if (!back && move.boots) await rehome(deps, move, begin);
    await between("legacy.ported");
    await serve(deps, transition, machine, await read(), begin);
    await between("legacy.served");
    if (node.task_state === MIGRATING && !(await releaseNode(deps.leases, node, transition.ends)))
      return { is: "other", reason: `bm_nodes.id=${move.id} was changed while it was moved` };
    await between("legacy.released");
    return await arrived();
  } catch (cause) {
    // Nova changed a row. The machine is skipped, and the others continue.
    if (cause instanceof MigrationError && cause.code === "N2I-E300")
      return {
        is: "other",
        reason: `${cause.message}: its move is unfinished. Run the same command again`,
      };
    throw cause;
  }
}

async function bootFault(
  { boots: { files } }: LegacyDeps,
  move: LegacyMove,
): Promise<string | null> {
  if (files === null) return "its boot files must be created: pass --tftp-root";
  const boot = await files.inspect(move);
  return boot.reason ?? files.download(boot);
}

/** Changes ports after the files exist and the journal has the former values. */
async function rehome({ ports }: LegacyDeps, move: LegacyMove, begin: Begin): Promise<void> {
  const moved = await ports.read(move);
  if (moved.length === 0) return;
  await begin({ move: moveJson(move), ports: moved as readonly object[] as Json });
  await ports.change(move, moved);
}

async function build(
  { boots: { files } }: LegacyDeps,
  move: LegacyMove,
  begin: Begin,
): Promise<void> {
  if (files === null) return;
  const boot = await files.inspect(move);
  if (boot.reason !== null) throw new MigrationError("N2I-E300", boot.reason);
  await files.build(boot, (steps) =>
    begin({ move: moveJson(move), tree: files.root, ...observedOf(steps) }),
  );
}

async function ended(
  { ports }: LegacyDeps,
  { files, move, ports: moved }: LegacyMachine,
  goal: string,
): Promise<LegacyPosition> {
  const failed = moved.length === 0 ? [] : await ports.restore(move, moved);
  const faults = [...failed, ...(files === null ? [] : await removeBoot(files.root, files.steps))];
  return faults.length === 0
    ? { is: "after", reason: null }
    : { is: "other", reason: `it belongs to ${goal} again; ${faults.join("; ")}` };
}

/** The machine with its new owner; null if its row has changed. */
async function claimed(
  { leases, claiming }: LegacyDeps,
  transition: LegacyTransition,
  { node }: LegacyNow,
): Promise<LegacyNode | null> {
  const { move, goal } = transition;
  if (node === null) return null;
  if (node.service_host === goal) return node;
  const prev = transition.back ? move.before : move.after;
  const epoch = await claimNode(leases, node, { to: goal, prev, ...claiming });
  if (epoch === null) return null;
  const owned = { service_host: goal, service_epoch: epoch, task_state: MIGRATING };
  return { ...node, ...owned, prev_task_state: prev };
}
