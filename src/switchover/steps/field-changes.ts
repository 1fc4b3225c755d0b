import { isDeepStrictEqual } from "node:util";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import type { SwitchWrite } from "../../systems/ironic-api/switch-calls.ts";
import type { NodeField, SwitchSide } from "../rules/switching.ts";
import { next, REACHED, type SwitchAt, type SwitchPosition, stays } from "./switch-part.ts";

export function field(
  side: SwitchSide,
  path: NodeField["path"],
  before: Json | undefined,
  after: Json | undefined,
): NodeField {
  return { side, path, before: before ?? undefined, after: after ?? undefined };
}

/** Nodes as they were read a moment ago: each PATCH reads its own again. */
type Known = { readonly [side in SwitchSide]?: JsonObject };

export async function forward(
  at: SwitchAt,
  changes: readonly NodeField[],
  image: JsonObject,
  known: Known = {},
): Promise<SwitchPosition> {
  const { todo, others } = await compared(at, changes, "after", known);
  if (others.length > 0) return stays(...others);
  return todo.length === 0 ? REACHED : next(todo, image);
}

export async function back(at: SwitchAt, changes: readonly NodeField[]): Promise<SwitchPosition> {
  const { todo, others } = await compared(at, changes.toReversed(), "before");
  if (todo.length > 0) return { ...next(todo), why: others };
  return others.length === 0 ? REACHED : stays(...others);
}

/**
 * One PATCH for each node of which a field is not as it is to be.
 *
 * @param to which of the two each field is to be
 */
export async function compared(
  at: SwitchAt,
  changes: readonly NodeField[],
  to: "before" | "after",
  known: Known = {},
): Promise<{ readonly todo: readonly SwitchWrite[]; readonly others: readonly string[] }> {
  const from = to === "after" ? "before" : "after";
  const todo: SwitchWrite[] = [];
  const others: string[] = [];
  const { calls, plan } = at;
  const read = async (side: SwitchSide): Promise<JsonObject | null> =>
    to === "before" && (await calls.isGone(plan[side])) ? null : calls.node(plan[side]);
  const sides = [...new Set(changes.map((one) => one.side))];
  const nodes = await inOrder(sides.map((side) => known[side] ?? read(side)));
  for (const [index, side] of sides.entries()) {
    const node = nodes[index] ?? null;
    // The other node is given back all the same; of a spare that is gone there is nothing to give back.
    if (node === null) {
      if (side === "source") others.push(`node ${plan[side]} is gone`);
      continue;
    }
    const open = changes.filter(
      (one) => one.side === side && !isSame(valueAt(node, one.path), one[to]),
    );
    const ours = open.filter((one) => isSame(valueAt(node, one.path), one[from]));
    others.push(
      ...open
        .filter((one) => !ours.includes(one))
        .map(({ path }) => `${path.join(".")} of node ${plan[side]} was changed by somebody else`),
    );
    const wanted = ours.map((one) => ({ ...one, before: one[from], after: one[to] }));
    if (wanted.length > 0) todo.push(patchOf(at, side, wanted));
  }
  return { todo, others };
}

/** Ironic 21.4 answers 500 to its removal. */
const NULLED = "automated_clean";

/** One PATCH of one node; removing a field is adding null where Ironic wants it so. */
export function patchOf(
  { calls, plan }: SwitchAt,
  side: SwitchSide,
  changes: readonly NodeField[],
): SwitchWrite {
  const uuid = plan[side];
  return {
    ...{ what: `PATCH of node ${uuid}`, on: [uuid] },
    async look() {
      const node = await calls.node(uuid);
      const open = changes.filter(({ path, after }) => !isSame(valueAt(node, path), after));
      if (open.length === 0) return "made";
      // A try that met a lock may come after somebody else's change.
      const other = open.find(({ path, before }) => !isSame(valueAt(node, path), before));
      if (other === undefined) return "open";
      return { why: `${other.path.join(".")} of node ${uuid} was changed by somebody else` };
    },
    ...{ method: "PATCH", path: `/v1/nodes/${uuid}` },
    body: changes.map(({ path, after }) => {
      const pointer = path.map((key) => `/${key?.replaceAll("~", "~0").replaceAll("/", "~1")}`);
      const where = { path: pointer.join("") };
      if (path[0] === NULLED) return { op: "add", ...where, value: after ?? null };
      return after === undefined
        ? { op: "remove", ...where }
        : { op: "add", ...where, value: after };
    }),
  };
}

function valueAt(node: JsonObject, [name, key]: NodeField["path"]): Json | undefined {
  const value = node[name] ?? undefined;
  return key === undefined ? value : objectOf(value)[key];
}

export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepStrictEqual(one ?? null, other ?? null);
}
