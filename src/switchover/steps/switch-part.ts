import { isDeepStrictEqual } from "node:util";
import type { Position, WindowPart } from "../../engine/window-part.ts";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import { inOrder } from "../../lib/streams.ts";
import type { NovaStep, RowState } from "../../model/nova/nova-plan.ts";
import {
  acceptedWrites,
  type NodeWrite,
  nodeCalls,
  type switchCalls,
} from "../../systems/ironic-api/node.ts";
import type { openServerAllocations } from "../../systems/nova-api/allocations.ts";
import type {
  Fenced,
  NodeField,
  Switchover,
  SwitchSide,
  SwitchStepName,
  SwitchTimes,
} from "../rules/switching.ts";

export interface SwitchAt {
  readonly calls: ReturnType<typeof switchCalls>;
  readonly plan: Switchover;
  /** Null if its rows do not change. */
  readonly nova: SwitchNova | null;
  readonly times: SwitchTimes;
  /** Milliseconds. */
  readonly now: () => number;
  /** The journal's records of a step, oldest first: the state before each change. */
  readonly recordsOf: (step: SwitchStepName) => readonly JsonObject[];
  /**
   * Proof without a BMC that a node is off, and whether that of the source `counts`, because its BMC
   * did not answer. Not restored from the journal, because the node may be on again.
   */
  readonly fence: { source: Fenced | null; counts: boolean; spare: Fenced | null };
}

export interface SwitchNova {
  readonly inspect: (change: NovaStep) => Promise<RowState>;
  /** @returns null, or why it differs */
  readonly change: (change: NovaStep) => Promise<string | null>;
  /** Null if Placement does not change. */
  readonly placement: Omit<Awaited<ReturnType<typeof openServerAllocations>>, "close"> | null;
}

/** A change outside Ironic. @returns null, or why it is refused */
interface OtherWrite extends Pick<NodeWrite, "what" | "on"> {
  readonly make: () => Promise<string | null>;
}

/** `repeats`: the step repeats the write, and ends that itself. */
export type Write = (NodeWrite | OtherWrite) & {
  readonly repeats?: true;
  /** An error is ignored: the next read decides. */
  readonly mayRefuse?: true;
};

/** The source's node uuid, the subject of each step. */
type SwitchChange = { readonly id: string };

export interface SwitchPosition extends Position {
  readonly reasons: readonly string[];
  readonly todo: readonly Write[];
  /** The journal's record before the calls. */
  readonly image?: JsonObject;
  /** Called when the calls are made, not for a preview. */
  readonly acting?: () => void;
  /** The node that another user has taken. */
  readonly taken?: SwitchSide;
  /** The error code after a rollback, for a node that is taken while the source is on. */
  readonly code?: RefusalCode;
  /** Not proved off: the source or, in a rollback, the spare. */
  readonly unproven?: true;
  /** All conflicts are on nodes of another switchover. */
  readonly isTheirs?: true;
}

/** A step decides the next calls and the rollback. It writes nothing itself. */
export interface SwitchStep {
  /** @param image the state before the step, if known */
  readonly inspect: (image: JsonObject | null) => Promise<SwitchPosition>;
  /** Absent: no rollback is possible. */
  readonly inspectBack?: (image: JsonObject) => Promise<SwitchPosition>;
}

export interface JournalStep extends SwitchStep {
  readonly name: SwitchStepName;
}

type SwitchPart = WindowPart<SwitchChange, SwitchPosition>;

export const WAITS: SwitchPosition = { is: "partway", reasons: [], todo: [] };
export const REACHED: SwitchPosition = { is: "after", reasons: [], todo: [] };

export function blocked(...reasons: readonly string[]): SwitchPosition {
  return { is: "other", reasons, todo: [] };
}

/** Another user has taken the destination. */
export function taken(reason: string): SwitchPosition {
  return { ...blocked(reason), taken: "destination" };
}

/** @param image the record for the journal; the first one is the state before the step */
export function next(todo: readonly Write[], image?: JsonObject, act?: () => void): SwitchPosition {
  const more = { ...(image !== undefined && { image }), ...(act !== undefined && { acting: act }) };
  return { is: "before", reasons: [], todo, ...more };
}

/**
 * The part of a step or of its rollback, which keeps and reports the changes of other users.
 *
 * @param before the state before the step, for its rollback; null: forward
 */
export function switchPart(
  { calls, recordsOf }: SwitchAt,
  { name, inspect, inspectBack }: JournalStep,
  before: JsonObject | null,
): SwitchPart {
  const made = making(calls);
  const imageOf = () => recordsOf(name)[0] ?? null;
  const read = async (): Promise<SwitchPosition> => {
    if (before === null) return inspect(imageOf());
    if (inspectBack === undefined) throw new Error(`${name} has no rollback`);
    return inspectBack(before);
  };
  return {
    ...{ name, size: 1, overdue, ...(before !== null && { keepsBack: true }) },
    inspect: async () => [await read()],
    async perform(_change, { todo, reasons: earlier, image, acting }, begin) {
      await begin(before === null ? (image ?? imageOf() ?? {}) : image);
      acting?.();
      const reasons: string[] = [];
      for (const write of todo) {
        const reason = await made(write);
        if (reason === null || write.mayRefuse === true) continue;
        if (before === null) return blocked(reason);
        reasons.push(reason);
      }
      if (reasons.length > 0) return blocked(...new Set([...earlier, ...reasons]));
      const reached = await read();
      return reached.is === "before" ? { ...reached, is: "partway" } : reached;
    },
  };
}

function making(calls: SwitchAt["calls"]): (write: Write) => Promise<string | null> {
  const accepted = acceptedWrites();
  return async (write) => {
    const exhausted = accepted.exhausted(write.what);
    if (exhausted !== null && write.repeats !== true) return `${exhausted} without effect`;
    const reason = await ("make" in write ? write.make() : calls.make(write));
    if (reason === null) accepted.add(write.what);
    return reason;
  };
}

function overdue({ id }: SwitchChange, { reasons }: SwitchPosition): SwitchPosition {
  return blocked(
    `it takes too long for node ${id}${reasons.length > 0 ? `: ${reasons.join("; ")}` : ""}`,
  );
}

export function field(
  side: SwitchSide,
  path: NodeField["path"],
  before: Json | undefined,
  after: Json | undefined,
): NodeField {
  return { side, path, before: before ?? undefined, after: after ?? undefined };
}

/** Nodes that were just read. Each PATCH reads its node again. */
type ReadNodes = { readonly [side in SwitchSide]?: JsonObject };

export async function forward(
  at: SwitchAt,
  changes: readonly NodeField[],
  image: JsonObject,
  cached: ReadNodes = {},
): Promise<SwitchPosition> {
  const { todo, conflicts } = await compared(at, changes, "after", cached);
  if (conflicts.length > 0) return blocked(...conflicts);
  return todo.length === 0 ? REACHED : next(todo, image);
}

/** One PATCH per node. @param to the value that each field should have */
export async function compared(
  at: SwitchAt,
  changes: readonly NodeField[],
  to: "before" | "after",
  cached: ReadNodes = {},
): Promise<{ readonly todo: readonly NodeWrite[]; readonly conflicts: readonly string[] }> {
  const from = to === "after" ? "before" : "after";
  const todo: NodeWrite[] = [];
  const conflicts: string[] = [];
  const { calls, plan } = at;
  const read = async (side: SwitchSide): Promise<JsonObject | null> =>
    to === "before" && (await calls.isNodeAbsent(plan[side])) ? null : calls.read(plan[side]);
  const sides = [...new Set(changes.map((one) => one.side))];
  const nodes = await inOrder(sides.map((side) => cached[side] ?? read(side)));
  for (const [index, side] of sides.entries()) {
    const node = nodes[index] ?? null;
    // The other node is still restored. A deleted spare has nothing to restore.
    if (node === null) {
      if (side === "source") conflicts.push(`node ${plan[side]} was deleted`);
      continue;
    }
    const open = changes.filter(
      (one) => one.side === side && !isSame(valueAt(node, one.path), one[to]),
    );
    const matching = open.filter((one) => isSame(valueAt(node, one.path), one[from]));
    conflicts.push(
      ...open.filter((one) => !matching.includes(one)).map((one) => changedBy(plan[side], one)),
    );
    const fields = matching.map((one) => ({ ...one, before: one[from], after: one[to] }));
    if (fields.length > 0) todo.push(patchOf(at, side, fields));
  }
  return { todo, conflicts };
}

export function patchOf(
  { calls, plan }: SwitchAt,
  side: SwitchSide,
  changes: readonly NodeField[],
): NodeWrite {
  const uuid = plan[side];
  const openIn = (node: JsonObject): readonly NodeField[] =>
    changes.filter(({ path, after }) => !isSame(valueAt(node, path), after));
  const is = (node: JsonObject): boolean => openIn(node).length === 0;
  // While the node was locked, another user may have changed it.
  const may = (node: JsonObject): string | null => {
    const other = openIn(node).find(({ path, before }) => !isSame(valueAt(node, path), before));
    return other === undefined ? null : changedBy(uuid, other);
  };
  return calls.prepare(uuid, "PATCH", { is, may }, () => nodeCalls.patch(uuid, changes));
}

function changedBy(node: string, { path }: NodeField): string {
  return `${path.join(".")} of node ${node} was changed by another user`;
}

function valueAt(node: JsonObject, [name, key]: NodeField["path"]): Json | undefined {
  const value = node[name] ?? undefined;
  return key === undefined ? value : objectOf(value)[key];
}

export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepStrictEqual(one ?? null, other ?? null);
}
