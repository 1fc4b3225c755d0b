import { isDeepStrictEqual } from "node:util";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import { type NodeWrite, nodeCalls } from "../../systems/ironic-api/node.ts";
import type { NodeField, SwitchSide } from "../rules/switching.ts";
import { blocked, next, REACHED, type SwitchAt, type SwitchPosition } from "./switch-part.ts";

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
