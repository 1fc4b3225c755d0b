import { countBack, type Scope } from "../../engine/back.ts";
import { inTransaction } from "../../engine/batches.ts";
import type { Part } from "../../engine/part.ts";
import { once } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import type { Entries } from "../../model/journal.ts";
import {
  HOST_FENCE,
  HOST_ROWS,
  type MoveManifest,
  type PlannedMove,
} from "../../model/nova/host-move.ts";
import type { NovaStep, NovaTarget } from "../../model/nova/nova-plan.ts";
import type { MovePlan } from "../../run/host-files.ts";

/**
 * A special statement fences, a normal restore lifts the fence. @param fence performs fence steps
 */
export function fencePart(
  { inspect, perform }: Pick<NovaTarget, "inspect" | "perform">,
  fence: NovaTarget["perform"],
): Part<NovaStep> {
  return {
    ...{ name: HOST_FENCE, size: inTransaction(), inspect },
    amount: ({ done }) => `${counted(done, "service")} of nova`,
    perform: (steps, hooks) => (steps.every(isFence) ? fence : perform)(steps, hooks),
  };
}

function isFence({ after }: NovaStep): boolean {
  return (
    after?.forced_down === true || (after?.forced_down === undefined && after?.disabled === true)
  );
}

type WithName = Pick<Part<NovaStep>, "name" | "size">;

export function rowsLeg<P extends WithName>(
  part: P,
  { sha256, lines }: Pick<MovePlan, "sha256" | "lines">,
) {
  return {
    ...{ part, plan: sha256, lines },
    changesOf: ({ steps }: PlannedMove) => steps,
    machineOf: ({ uuid }: PlannedMove) => uuid,
  };
}

/**
 * Does not restore a lost request: a starting nova-compute would repeat a stop or reboot.
 *
 * @source nova@26.2.2:nova/compute/manager.py _init_instance
 */
export function rowsBack(
  part: Part<NovaStep>,
  plan: Pick<MovePlan, "sha256" | "lines">,
): ReturnType<typeof rowsLeg<Part<NovaStep>>> {
  const requests = new Map<string, NovaStep>();
  const withoutRequest = (step: NovaStep): NovaStep => {
    const { id, before, after } = step;
    const task_state = after?.task_state ?? null;
    if (before === null || (before.task_state ?? null) === task_state) return step;
    requests.set(id, step);
    return { ...step, before: { ...before, task_state } };
  };
  /** Rows that still have their request, because the process ended before the commit. */
  const untouched = async (steps: readonly NovaStep[]): Promise<ReadonlySet<string>> => {
    const requested = steps.flatMap(({ id }) => requests.get(id) ?? []);
    const states = requested.length === 0 ? [] : await part.inspect(requested);
    return new Set(states.flatMap(({ id, is }) => (is === "before" ? [id] : [])));
  };
  const inspect: typeof part.inspect = async (steps) => {
    const [states, unchanged] = [await part.inspect(steps), await untouched(steps)];
    return states.map((state) =>
      unchanged.has(state.id) ? { ...state, is: "after", reason: "" } : state,
    );
  };
  const perform: typeof part.perform = async (steps, hooks) => {
    const unchanged = await untouched(steps);
    const rest = steps.filter(({ id }) => !unchanged.has(id));
    const outcome = await part.perform(rest, hooks);
    return { ...outcome, found: [...outcome.found, ...unchanged] };
  };
  return {
    ...rowsLeg({ ...part, inspect, perform }, plan),
    changesOf: ({ steps }) => steps.map(withoutRequest),
  };
}

export function fenceLeg<P extends WithName>(
  part: P,
  { sha256, manifest }: { readonly sha256: string; readonly manifest: Pick<MoveManifest, "fence"> },
) {
  return {
    ...{ part, plan: sha256, lines: () => once(manifest.fence) },
    changesOf: (step: NovaStep) => [step],
    machineOf: () => null,
  };
}

export const EVERYTHING = { all: true, selects: () => true };

export async function rowsToRestore(
  plans: readonly MovePlan[],
  entries: Entries,
  scope: Scope<PlannedMove> = EVERYTHING,
): Promise<number> {
  let rows = scope.all ? await fencesOf(plans, entries) : 0;
  const part = { name: HOST_ROWS, size: inTransaction() };
  for (const plan of plans) rows += await countBack(rowsLeg(part, plan), entries, scope);
  return rows;
}

export async function fencesOf(
  plans: readonly MovePlan[],
  entries: Entries,
  scope: Pick<Scope<NovaStep>, "selects"> = EVERYTHING,
): Promise<number> {
  let fences = 0;
  const part = { name: HOST_FENCE, size: inTransaction() };
  for (const plan of plans) fences += await countBack(fenceLeg(part, plan), entries, scope);
  return fences;
}
