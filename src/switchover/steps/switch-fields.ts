import { isDeepStrictEqual } from "node:util";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import type { SwitchWrite } from "../../systems/ironic-api/switch-calls.ts";
import {
  type NodeField,
  SWITCH_MARK,
  type Switchover,
  type SwitchSide,
} from "../rules/switching.ts";
import { areVolumesOf, bothNodes, markOf, otherMark } from "./switch-guard.ts";
import {
  next,
  REACHED,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  stays,
  WAITS,
} from "./switch-part.ts";

/** Marks both nodes, so that a second switchover of either sees the first. */
export function holdStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  const changes = SIDES.map((side) => marked(side, undefined, plan.id));
  let pause = SETTLES * (1 + Math.random());
  let began: number | null = null;
  let since: number | null = null;
  return {
    name: "switchover-hold",
    async look() {
      // Ironic has no compare-and-swap: who marked last is seen by a look some time later.
      if (since !== null && at.now() - since < pause) return WAITS;
      const nodes = await bothNodes(at);
      for (const [index, { side }] of changes.entries()) {
        const node = nodes[index] ?? {};
        const found = markOf(node);
        if (found !== undefined && found !== plan.id)
          return { ...stays(otherMark(node)), taken: side };
      }
      const [source, destination] = nodes;
      const seen = await forward(at, changes, imageOf(plan), { source, destination });
      if (seen.is !== "after") {
        [began, since] = [at.now(), null];
        return seen;
      }
      if (since !== null) return seen;
      since = at.now();
      // A mark that another sent before he saw ours may be on its way for as long as ours were.
      pause += since - (began ?? since);
      return WAITS;
    },
    async lookBack() {
      // A mark of another switchover is not ours to remove.
      const { todo } = await compared(at, changes, "before");
      return todo.length === 0 ? REACHED : next(todo);
    },
  };
}

/** As the journal keeps it. */
function imageOf(plan: Switchover): JsonObject {
  const { server } = plan;
  const { from, to } = server ?? {};
  return { ...plan, server: server && { ...server, from: { ...from }, to: { ...to } } };
}

/** Milliseconds, at least, after which both marks are read again. */
const SETTLES = 1000;

const SIDES: readonly SwitchSide[] = ["source", "destination"];

function marked(side: SwitchSide, before: Json | undefined, after: Json | undefined): NodeField {
  return { side, path: ["extra", SWITCH_MARK], before, after };
}

/** Takes the instance off the source. An allocation goes with it; it is made again by whoever has the instance. */
export function unlinkStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const changes = [field("source", ["instance_uuid"], plan.instance_uuid, undefined)];
  return {
    name: "switchover-unlink",
    async look(image) {
      if (image !== null) return forward(at, changes, image);
      const source = await calls.node(plan.source);
      const { allocation_uuid, instance_info } = source;
      const found =
        typeof allocation_uuid === "string" ? await calls.allocation(allocation_uuid) : null;
      const { traits } = objectOf(instance_info);
      const kept = {
        instance_uuid: plan.instance_uuid,
        ...(found !== null && { allocation: remade(found) }),
        ...(traits !== undefined && { traits }),
      };
      return forward(at, changes, kept, { source });
    },
    async lookBack(image) {
      if (!(await areVolumesOf(at, "source")))
        return stays(`node ${plan.source} has no instance again: not all of its volumes are back`);
      if (image.allocation === undefined) return back(at, changes);
      return allocated(at, "source", image);
    },
  };
}

/** Makes the allocation that the source had, of the node that has its instance now. */
export function allocationStep(at: SwitchAt): SwitchStep {
  return {
    name: "switchover-allocation",
    async look() {
      const image = at.keptOf("switchover-unlink")[0];
      return image?.allocation === undefined ? REACHED : allocated(at, "destination", image);
    },
    lookBack: null,
  };
}

/** What an allocation is made with. @source ironic: api/controllers/v1/allocation.py, `post` */
const REMADE = ["uuid", "name", "resource_class", "extra", "owner"];

function remade(found: JsonObject): JsonObject {
  const all = REMADE.map((name) => [name, found[name] ?? null] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}

/** Backfill empties `instance_info.traits`, which are written again. */
async function allocated(
  at: SwitchAt,
  side: SwitchSide,
  { allocation, traits }: JsonObject,
): Promise<SwitchPosition> {
  const { calls, plan } = at;
  const body = objectOf(allocation);
  const node = plan[side];
  const stands = async () => {
    const found = await calls.allocation(String(body.uuid));
    if (found === null) return "open" as const;
    if (found.node_uuid === node && found.state === "active") return "made" as const;
    const uuid = String(body.uuid);
    const is = `allocation ${uuid} is ${String(found.state)} of node ${String(found.node_uuid ?? "none")}`;
    // Whatever is in error has its uuid for good, and no instance.
    const isLost = found.state === "error";
    const how = `: ${String(found.last_error ?? null)}; remove it first: openstack baremetal allocation delete ${uuid}`;
    return { why: isLost ? `${is}${how}` : is };
  };
  const stand = await stands();
  if (typeof stand === "object") return stays(stand.why);
  const what = `the allocation of node ${node}`;
  if (stand === "open")
    return next([
      {
        ...{ what, on: [node], look: stands },
        ...{ method: "POST", path: "/v1/allocations", body: { ...body, node } },
      },
    ]);
  const now = valueAt(await calls.node(node), ["instance_info", "traits"]);
  if (isSame(now, traits) || !isSame(now, [])) return REACHED;
  return next([patchOf(at, side, [field(side, ["instance_info", "traits"], now, traits)])]);
}

/** What of a node belongs to its instance, and not to the hardware. @source facts/systems.md B3 */
const OF_INSTANCE = ["description", "owner", "lessee", "network_data"];
const KEYED = ["extra", "instance_info"];
/** What would make Ironic write an image, and what may hold secrets of the tenant. */
const NOT_COPIED = /^(image_.*|configdrive|kernel|ramdisk|boot_iso|stage2|ks_.*|traits)$/;
/** What Ironic shows in place of a secret. */
const MASK = "******";

/** Writes on the destination what belongs to the instance; the name goes there too. */
export function fieldsStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  return {
    name: "switchover-fields",
    async look(image) {
      const [source, destination] = await bothNodes(at);
      const kept = image ?? { source: ofInstance(source), destination: ofInstance(destination) };
      return forward(at, fieldsOf(plan, kept), kept, { source, destination });
    },
    lookBack: (image) => back(at, fieldsOf(plan, image)),
  };
}

function ofInstance(node: JsonObject): JsonObject {
  const fields = ["name", ...OF_INSTANCE].flatMap((name) => {
    const value = node[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const keyed = KEYED.map((name) => {
    const keys = Object.entries(objectOf(node[name]));
    return [name, Object.fromEntries(keys.filter(([key, value]) => isCopied(key, value)))] as const;
  });
  return Object.fromEntries([...fields, ...keyed]);
}

function isCopied(key: string, value: Json): boolean {
  return key !== SWITCH_MARK && !NOT_COPIED.test(key) && !JSON.stringify(value).includes(MASK);
}

function fieldsOf({ failed_name }: Switchover, kept: JsonObject): readonly NodeField[] {
  const [source, destination] = [objectOf(kept.source), objectOf(kept.destination)];
  const named =
    failed_name === null
      ? []
      : [
          field("source", ["name"], source.name, failed_name),
          field("destination", ["name"], destination.name, source.name),
        ];
  const plain = OF_INSTANCE.filter((name) => name in source).map((name) =>
    field("destination", [name], destination[name], source[name]),
  );
  const keyed = KEYED.flatMap((name) =>
    Object.entries(objectOf(source[name])).map(([key, value]) =>
      field("destination", [name, key], objectOf(destination[name])[key], value),
    ),
  );
  return [...named, ...plain, ...keyed].filter(({ before, after }) => !isSame(before, after));
}

/** Gives the destination the instance while no scheduler can take it, and keeps Ironic from cleaning it. */
export function claimStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const changes = (image: JsonObject): readonly NodeField[] => [
    field("destination", ["automated_clean"], image.automated_clean, false),
    field("destination", ["instance_uuid"], undefined, plan.instance_uuid),
  ];
  return {
    name: "switchover-claim",
    async look(image) {
      const destination = await calls.node(plan.destination);
      const { automated_clean = null } = destination;
      const kept = image ?? { automated_clean };
      return forward(at, changes(kept), kept, { destination });
    },
    lookBack: (image) => back(at, changes(image)),
  };
}

/** Gives `automated_clean` back, and takes the marks off. */
export function releaseStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  return {
    name: "switchover-release",
    async look() {
      const images = [
        ["destination", at.keptOf("switchover-claim")[0]],
        ["source", at.keptOf("switchover-clear")[0]],
      ] as const;
      const clean = images.flatMap(([side, image]) =>
        image?.automated_clean === undefined
          ? []
          : [field(side, ["automated_clean"], false, image.automated_clean)],
      );
      const marks = SIDES.map((side) => marked(side, plan.id, undefined));
      // What somebody else wrote since is his.
      const { todo } = await compared(at, [...clean, ...marks], "after");
      return todo.length === 0 ? REACHED : next(todo, {});
    },
    lookBack: null,
  };
}

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

async function forward(
  at: SwitchAt,
  changes: readonly NodeField[],
  image: JsonObject,
  known: Known = {},
): Promise<SwitchPosition> {
  const { todo, others } = await compared(at, changes, "after", known);
  if (others.length > 0) return stays(...others);
  return todo.length === 0 ? REACHED : next(todo, image);
}

async function back(at: SwitchAt, changes: readonly NodeField[]): Promise<SwitchPosition> {
  const { todo, others } = await compared(at, changes.toReversed(), "before");
  if (todo.length > 0) return { ...next(todo), why: others };
  return others.length === 0 ? REACHED : stays(...others);
}

/**
 * One PATCH for each node of which a field is not as it is to be.
 *
 * @param to which of the two each field is to be
 */
async function compared(
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

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepStrictEqual(one ?? null, other ?? null);
}
