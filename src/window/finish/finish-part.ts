import { ownershipOf, wasUndone } from "../../engine/ownership.ts";
import type { StartedChange } from "../../engine/started.ts";
import { type Ending, runWindow, type WindowSession } from "../../engine/window.ts";
import {
  ONE_BY_ONE,
  type Position,
  type WindowLeg,
  type WindowPart,
} from "../../engine/window-part.ts";
import { textOrNull } from "../../lib/json.ts";
import { regroup } from "../../lib/streams.ts";
import type { RunPlan } from "../../migrate/plan/loaded-plans.ts";
import {
  FINISH,
  type Guard,
  type Guarded,
  type Guards,
  isOwned,
  type Trouble,
} from "../../model/handover.ts";
import { type Entries, IRONIC } from "../../model/journal.ts";
import type { Origins, PlannedMachine } from "../../model/plan.ts";
import { failpoint } from "../../run/failpoint.ts";
import { clearedOf } from "../../run/finished.ts";
import { nodesOf } from "../handover/hand-over.ts";
import { AGAIN, isTakenOver, lockedBy, type PlannedNode } from "../handover/rules/judge.ts";

interface GuardChange extends GuardedNode {
  /** Fields that this run cleared, for a rollback. */
  readonly cleared: ReadonlySet<string>;
}

interface GuardPosition extends Position {
  readonly change: Partial<Guards>;
  readonly current: Guarded | undefined;
  /** The plan has the machine in maintenance, so it keeps a guard. */
  readonly hasGuard: boolean;
  /** The reason why the protection stays, for the preview. */
  readonly reason: string | null;
  /** The reason why it is skipped. */
  readonly trouble: Omit<Trouble, "uuid" | "bm_node_id"> | null;
}

const SIZE = 128;
const NOTHING = { change: {}, hasGuard: false, reason: null, trouble: null };
const STAGED = { state: "staged", reason: "still staged", fix: "Run handover first." } as const;
const IN_PLAN = "in maintenance by the plan: protected, or not cleaned, until you decide";

/**
 * Removes protection with our reason, and disabled cleaning that is not from the site document. A
 * machine that the plan has in maintenance keeps its protection or, if it has none, disabled
 * cleaning, until the operator has checked it.
 */
export function toClear(
  { row, asSite, optional }: GuardedNode,
  current: Guarded | undefined,
): GuardPosition {
  const nothing = { ...NOTHING, current };
  if (current === undefined) return { ...nothing, is: optional === true ? "after" : "other" };
  if (isOwned(current.maintenance, current.maintenance_reason))
    return { ...nothing, is: "other", trouble: STAGED };
  const { protected_reason, automated_clean } = current;
  const isProtected = row.protected === true && typeof row.protected_reason === "string";
  const guarded = current.protected && isProtected && protected_reason === row.protected_reason;
  const isChecked = row.maintenance !== true || !current.maintenance;
  const uncleaned = row.automated_clean === false && !asSite && automated_clean === false;
  // An unprotected disk is not wiped before the operator has checked it.
  const hasGuard = !isChecked && (guarded || uncleaned);
  const change: Partial<Guards> = {
    ...(guarded && isChecked && { protected: false, protected_reason: null }),
    ...(uncleaned && (isChecked || guarded) && { automated_clean: null }),
  };
  if (Object.keys(change).length > 0) return { ...nothing, ...busyOr(current), change, hasGuard };
  const cause =
    current.protected && !guarded
      ? `protected by another user: ${protected_reason ?? "without a reason"}`
      : null;
  return { ...nothing, is: "after", hasGuard, reason: hasGuard ? IN_PLAN : cause };
}

/** Restores protection, if it is unchanged since finish and the instance is the same. */
function toRestore(node: GuardChange, current: Guarded | undefined): GuardPosition {
  const fine = { ...NOTHING, current, is: "after" } as const;
  if (current === undefined) return fine;
  const guards = guardsOf(node, node.cleared);
  const { protected_reason = null } = guards;
  const change: Partial<Guards> = {
    ...(guards.protected === true && !current.protected && { protected: true, protected_reason }),
    ...(guards.automated_clean === false &&
      current.automated_clean === null && { automated_clean: false }),
  };
  if (Object.keys(change).length === 0) return fine;
  const { instance_uuid = null, provision_state } = node.row;
  const reason =
    current.provision_state !== provision_state
      ? `it is ${String(current.provision_state)} now`
      : "it has a different instance now";
  if (current.provision_state === provision_state && current.instance_uuid === instance_uuid)
    return { ...fine, ...busyOr(current), change };
  const fix = "To protect it, use openstack baremetal node set --protected.";
  return { ...fine, is: "other", trouble: { state: "failed", reason, fix } };
}

function partOf(guard: Guard, undo: boolean): WindowPart<GuardChange, GuardPosition> {
  return {
    ...{ name: FINISH, size: SIZE },
    async inspect(changes) {
      const observed = await guard.observe(changes.map(({ id }) => id));
      return changes.map((change) => {
        const current = observed.get(change.id);
        return undo ? toRestore(change, current) : toClear(change, current);
      });
    },
    async perform({ id }, position, begin) {
      const { current, change } = position;
      if (current === undefined) throw new Error(`${id} does not exist and cannot be changed`);
      await begin(undo ? undefined : { fields: Object.keys(change) });
      await failpoint("write.before");
      const written = await guard.write(id, current, change);
      await failpoint("write.after");
      if (written === "done") return { ...position, is: "after" };
      if (written === "again")
        return { ...position, is: "waiting", trouble: lockedBy("another process") };
      const trouble = { state: "failed", reason: written.reason, fix: AGAIN } as const;
      return { ...position, is: "other", trouble };
    },
  };
}

function busyOr({ reservation }: Guarded): Pick<GuardPosition, "is" | "trouble"> {
  return reservation === null
    ? { is: "before", trouble: null }
    : { is: "waiting", trouble: lockedBy(reservation) };
}

/** Fields that were cleared and not restored, by node. @throws MigrationError N2I-E112 */
export function clearedFields(
  started: ReadonlyMap<string, StartedChange>,
): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map([...started].map(([id, one]) => [id, clearedOf(id, one)]));
}

/**
 * Protected nodes of a run's plans, each from the newest plan that has it. A later plan may exclude
 * a machine that an earlier one loaded and protected.
 * @param plans the current one, then other plans that loaded something, newest first
 */
export async function* runNodes(
  plans: readonly RunPlan[],
  journal: Entries,
  isSelected: (machine: PlannedMachine) => boolean,
): AsyncGenerator<readonly GuardedNode[]> {
  const processed = new Set<string>();
  for (const [nth, { sha256, origins, lines }] of plans.entries()) {
    const ownership = ownershipOf(journal, IRONIC, sha256);
    let to = 0;
    for await (const batch of regroup(lines(), SIZE)) {
      const from = to;
      to += batch.length;
      const near = ownership.started.filter((span) => span.from < to && from < span.to);
      const nodes = batch.flatMap((machine, at) => {
        if (!isSelected(machine)) return [];
        const spans = near.filter((one) => one.from <= from + at && from + at < one.to);
        const record = machine.records.find(({ resource }) => resource === "node");
        const asSite = record?.origins.some((origin) => isOfSite(origins[origin])) === true;
        return nodesOf(machine).flatMap((one) => {
          const node = { ...one, asSite };
          const exists = spans.some(
            (span) => !wasUndone(ownership, span, machine.uuid ?? "", `node:${node.id}`),
          );
          const isOwned = exists && !ownership.refused.has(`node:${node.id}`);
          if (processed.has(node.id) || (nth > 0 && !isOwned)) return [];
          processed.add(node.id);
          // A machine that the current plan has not loaded counts as missing, like a deleted one.
          return [exists || spans.length === 0 ? node : { ...node, optional: true as const }];
        });
      });
      if (nodes.length > 0) yield nodes;
    }
  }
}

function isOfSite([field, origin]: Origins[number] = ["", ""]): boolean {
  return field === "automated_clean" && origin.startsWith("site document ");
}

interface Finishing extends WindowSession {
  readonly guard: Guard;
  /** Seconds to wait for conductors' locks, in total. */
  readonly lockWait: number;
  readonly inFlight: number;
  readonly progress: (machines: number) => void;
}

/**
 * Removes the protection that machines have until Nova manages them, or with `undo` restores what
 * this run removed. Safe to repeat.
 * @throws MigrationError if it fails before the first change. Later failures are in `broke`, to be
 *   thrown after the report
 */
export async function finish(
  plan: AsyncIterable<readonly GuardedNode[]>,
  finishing: Finishing,
  undo = false,
) {
  const { guard, inFlight, lockWait } = finishing;
  const leg: WindowLeg<GuardChange, GuardPosition> = {
    part: partOf(guard, undo),
    command: undo ? "finish --undo" : "finish",
    async *changes(started) {
      const cleared: ReturnType<typeof clearedFields> = undo ? clearedFields(started) : new Map();
      for await (const batch of plan)
        yield batch.map((node) => {
          return { ...node, cleared: cleared.get(node.id) ?? new Set<string>() };
        });
    },
    pace: { ...ONE_BY_ONE, concurrency: inFlight, inFlight, lockWait: lockWait * 1000 },
  };
  const skipped: Trouble[] = [];
  /** Nodes of the run that are not in Ironic. */
  const gone: string[] = [];
  /** `fine` need no change. The plan has `held` in maintenance. No conductor has `untaken`. */
  let [changed, fine, held, untaken] = [0, 0, 0, 0];
  const ends = ({ change, position, made, completed }: Ending<GuardChange, GuardPosition>) => {
    const { id: uuid, bm_node_id } = change;
    const { is, current, trouble } = position;
    if (current?.taken === false && isTakenOver(change)) untaken += 1;
    if (trouble !== null) skipped.push({ ...trouble, uuid, bm_node_id });
    else if (is === "other") gone.push(uuid);
    else if (made) changed += 1;
    else if (current !== undefined) fine += 1;
    if (is === "after" && position.hasGuard) held += 1;
    finishing.progress(completed);
  };
  const { stopped, broke } = await runWindow(undo ? "back" : "forward", leg, finishing, ends);
  return { changed, fine, held, untaken, gone, skipped, stopped, broke };
}

export interface GuardedNode extends PlannedNode {
  /** The site document sets automated_clean, so that value is kept. */
  readonly asSite: boolean;
  /** The machine was rolled back, so the run is complete without it. */
  readonly optional?: true;
}

/** The plan's values of the cleared fields. */
export function guardsOf({ row }: GuardedNode, cleared: ReadonlySet<string>): Partial<Guards> {
  const { protected_reason } = row;
  return {
    ...(cleared.has("protected") && {
      protected: true,
      protected_reason: textOrNull(protected_reason),
    }),
    ...(cleared.has("automated_clean") && { automated_clean: false }),
  };
}
