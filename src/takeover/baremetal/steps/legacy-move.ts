import type { WindowPart } from "../../../engine/window-part.ts";
import { MigrationError } from "../../../lib/error.ts";
import type { Json } from "../../../lib/json.ts";
import { observedOf } from "../../../migrate/boot/boot-steps.ts";
import { type LegacyMove, type LegacyNode, MIGRATING } from "../../../model/nova/legacy-move.ts";
import { type LegacyNow, type LegacyTransition, moveState } from "../../rules/legacy-states.ts";
import { removeBoot } from "./legacy-boot.ts";
import {
  type Begin,
  type Between,
  guard,
  isBack,
  type LegacyDeps,
  type LegacyPosition,
  serve,
} from "./legacy-rows.ts";
import { LEGACY, type LegacyMachine, moveJson } from "./legacy-started.ts";

/** Guard, claim, Nova's rows, release; or a rollback from any step. @source systems.md A5 */
export function legacyPart(
  deps: LegacyDeps,
  transitionTo: (move: LegacyMove) => LegacyTransition,
): WindowPart<LegacyMachine, LegacyPosition> {
  const transitionOf = ({ move }: LegacyMachine): LegacyTransition => transitionTo(move);
  return {
    ...{ name: LEGACY, size: 100 },
    async inspect(machines) {
      const now = await deps.look(machines.map(({ move }) => move));
      return machines.map((machine, at) => {
        const current = now[at];
        if (current === undefined) throw new Error(`no reading of ${machine.id}`);
        const position = moveState(transitionOf(machine), current);
        // Boot files and ports are restored after the rows.
        const more = machine.files !== null || machine.ports.length > 0;
        return position.is === "after" && isBack(transitionOf(machine)) && more
          ? { ...position, is: "before" }
          : position;
      });
    },
    async perform(machine, _, begin) {
      const transition = transitionOf(machine);
      const outcome = await deps.holding(machine.move, (between) =>
        drive(deps, transition, machine, between, begin),
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
  const { move, goal } = transition;
  const look = async (): Promise<LegacyNow> => {
    const [now] = await deps.look([move]);
    if (now === undefined) throw new Error(`no reading of ${move.uuid}`);
    return now;
  };
  const first = await look();
  const state = moveState(transition, first);
  if (state.is === "other") return state;
  const back = isBack(transition);
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
      return { is: "other", reason: lostClaim(move, goal) };
    }
    await between("legacy.claimed");
    if (!back && move.boots) await build(deps, move, begin);
    await between("legacy.built");
    if (!back && move.boots) await rehome(deps, move, begin);
    await between("legacy.ported");
    await serve(deps, transition, machine, await look(), begin);
    await between("legacy.served");
    if (node.task_state === MIGRATING && !(await deps.release(node, transition.ends)))
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

function lostClaim({ id }: LegacyMove, goal: string): string {
  return `bm_nodes.id=${id} was not claimed: it belongs to another host now, its host is up, or ${goal} is fenced`;
}

async function bootFault({ files }: LegacyDeps, move: LegacyMove): Promise<string | null> {
  if (files === null) return "its boot files must be created: pass --tftp-root";
  const look = await files.look(move);
  return look.reason ?? files.download(look);
}

/** Changes ports after the files exist and the journal has the former values. */
async function rehome({ ports }: LegacyDeps, move: LegacyMove, begin: Begin): Promise<void> {
  const moved = await ports.look(move);
  if (moved.length === 0) return;
  await begin({ move: moveJson(move), ports: moved as readonly object[] as Json });
  await ports.change(move, moved);
}

async function build({ files }: LegacyDeps, move: LegacyMove, begin: Begin): Promise<void> {
  if (files === null) return;
  const look = await files.look(move);
  if (look.reason !== null) throw new MigrationError("N2I-E300", look.reason);
  await files.build(look, (steps) =>
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
  { claim }: LegacyDeps,
  transition: LegacyTransition,
  { node }: LegacyNow,
): Promise<LegacyNode | null> {
  const { move, goal } = transition;
  if (node === null) return null;
  if (node.service_host === goal) return node;
  const prev = isBack(transition) ? move.before : move.after;
  const epoch = await claim(node, goal, prev);
  if (epoch === null) return null;
  const owned = { service_host: goal, service_epoch: epoch, task_state: MIGRATING };
  return { ...node, ...owned, prev_task_state: prev };
}
