import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { nodeCalls } from "../../systems/ironic-api/node.ts";
import {
  type NodeField,
  SWITCH_MARK,
  type Switchover,
  type SwitchSide,
} from "../rules/switching.ts";
import { areVolumesOf, bothNodes, markOf, otherMark } from "./switch-guard.ts";
import {
  blocked,
  compared,
  field,
  forward,
  isSame,
  next,
  patchOf,
  REACHED,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  WAITS,
} from "./switch-part.ts";

/** Marks both nodes, so that a second switchover finds the first. */
export function markStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  const changes = SIDES.map((side) => field(side, MARK, undefined, plan.id));
  let pause = SETTLES * (1 + Math.random());
  let began: number | null = null;
  let since: number | null = null;
  return {
    async inspect() {
      // Ironic has no compare-and-swap, so the marks are read again later: the last writer wins.
      if (since !== null && at.now() - since < pause) return WAITS;
      const nodes = await bothNodes(at);
      for (const [index, { side }] of changes.entries()) {
        const node = nodes[index] ?? {};
        const found = markOf(node);
        if (found !== undefined && found !== plan.id)
          return { ...blocked(otherMark(node)), taken: side };
      }
      const [source, destination] = nodes;
      const { server } = plan;
      const { from, to } = server ?? {};
      const image = { ...plan, server: server && { ...server, from: { ...from }, to: { ...to } } };
      const position = await forward(at, changes, image, { source, destination });
      if (position.is !== "after") {
        [began, since] = [at.now(), null];
        return position;
      }
      if (since !== null) return position;
      since = at.now();
      // A concurrent mark, sent before ours was visible, may take as long as our own calls did.
      pause += since - (began ?? since);
      return WAITS;
    },
    async inspectBack() {
      // The mark of another switchover is kept.
      const { todo } = await compared(at, changes, "before");
      return todo.length === 0 ? REACHED : next(todo);
    },
  };
}

/** Minimum milliseconds before both marks are read again. */
const SETTLES = 1000;

const SIDES: readonly SwitchSide[] = ["source", "destination"];
const MARK: NodeField["path"] = ["extra", SWITCH_MARK];

/** Removes the instance from the source. Ironic deletes its allocation. A later step creates it. */
export function unlinkStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const changes = [field("source", ["instance_uuid"], plan.instance_uuid, undefined)];
  return {
    async inspect(image) {
      if (image !== null) return forward(at, changes, image);
      const source = await calls.read(plan.source);
      const { allocation_uuid, instance_info } = source;
      const found =
        typeof allocation_uuid === "string" ? await calls.allocation(allocation_uuid) : null;
      const { traits } = objectOf(instance_info);
      const again = REMADE.flatMap((name) => {
        const value = found?.[name] ?? null;
        return value === null ? [] : [[name, value] as const];
      });
      const record = {
        instance_uuid: plan.instance_uuid,
        ...(found !== null && { allocation: Object.fromEntries(again) }),
        ...(traits !== undefined && { traits }),
      };
      return forward(at, changes, record, { source });
    },
    async inspectBack(image) {
      if (!(await areVolumesOf(at, "source")))
        return blocked(
          `node ${plan.source} did not get its instance back: not all of its volumes are back`,
        );
      if (image.allocation === undefined) return back(at, changes);
      return allocated(at, "source", image);
    },
  };
}

export function allocationStep(at: SwitchAt): SwitchStep {
  return {
    async inspect() {
      const image = at.recordsOf("switchover-unlink")[0];
      return image?.allocation === undefined ? REACHED : allocated(at, "destination", image);
    },
  };
}

/** Fields of a new allocation. @source ironic: api/controllers/v1/allocation.py, `post` */
const REMADE = ["uuid", "name", "resource_class", "extra", "owner"];

/** An allocation by backfill clears `instance_info.traits`, so they are written again. */
async function allocated(
  at: SwitchAt,
  side: SwitchSide,
  { allocation, traits }: JsonObject,
): Promise<SwitchPosition> {
  const { calls, plan } = at;
  const body = objectOf(allocation);
  const node = plan[side];
  const readState = async () => {
    const found = await calls.allocation(String(body.uuid));
    if (found === null) return "open" as const;
    if (found.node_uuid === node && found.state === "active") return "made" as const;
    const uuid = String(body.uuid);
    const is = `allocation ${uuid} is ${String(found.state)} of node ${String(found.node_uuid ?? "none")}`;
    // An allocation in error keeps its uuid and has no instance.
    const isLost = found.state === "error";
    const how = `: ${String(found.last_error ?? null)}; remove it first: openstack baremetal allocation delete ${uuid}`;
    return { reason: isLost ? `${is}${how}` : is };
  };
  const state = await readState();
  if (typeof state === "object") return blocked(state.reason);
  const what = `the allocation of node ${node}`;
  if (state === "open")
    return next([
      { what, on: [node], read: readState, call: () => nodeCalls.allocate({ ...body, node }) },
    ]);
  const now = objectOf((await calls.read(node)).instance_info).traits;
  if (isSame(now, traits) || !isSame(now, [])) return REACHED;
  return next([patchOf(at, side, [field(side, ["instance_info", "traits"], now, traits)])]);
}

/** Fields of a node that belong to its instance. @source facts/systems.md B3 */
const OF_INSTANCE = ["description", "owner", "lessee", "network_data"];
const KEYED = ["extra", "instance_info"];
/** Keys that make Ironic write an image, or may contain tenant secrets. */
const NOT_COPIED = /^(image_.*|configdrive|kernel|ramdisk|boot_iso|stage2|ks_.*|traits)$/;
const MASK = "******";

export function fieldsStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  return {
    async inspect(image) {
      const [source, destination] = await bothNodes(at);
      const record = image ?? { source: ofInstance(source), destination: ofInstance(destination) };
      return forward(at, fieldsOf(plan, record), record, { source, destination });
    },
    inspectBack: (image) => back(at, fieldsOf(plan, image)),
  };
}

function ofInstance(node: JsonObject): JsonObject {
  const fields = ["name", ...OF_INSTANCE].flatMap((name) => {
    const value = node[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const isCopied = ([key, value]: readonly [string, Json]): boolean =>
    key !== SWITCH_MARK && !NOT_COPIED.test(key) && !JSON.stringify(value).includes(MASK);
  const keyed = KEYED.map((name) => {
    const keys = Object.entries(objectOf(node[name]));
    return [name, Object.fromEntries(keys.filter(isCopied))] as const;
  });
  return Object.fromEntries([...fields, ...keyed]);
}

function fieldsOf({ failed_name }: Switchover, record: JsonObject): readonly NodeField[] {
  const [source, destination] = [objectOf(record.source), objectOf(record.destination)];
  const nameFields =
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
  return [...nameFields, ...plain, ...keyed].filter(({ before, after }) => !isSame(before, after));
}

/** Assigns the instance while the node is not schedulable, and prevents cleaning. */
export function claimStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const changes = (image: JsonObject): readonly NodeField[] => [
    field("destination", ["automated_clean"], image.automated_clean, false),
    field("destination", ["instance_uuid"], undefined, plan.instance_uuid),
  ];
  return {
    async inspect(image) {
      const destination = await calls.read(plan.destination);
      const { automated_clean = null } = destination;
      const record = image ?? { automated_clean };
      return forward(at, changes(record), record, { destination });
    },
    inspectBack: (image) => back(at, changes(image)),
  };
}

export function releaseStep(at: SwitchAt): SwitchStep {
  const { plan } = at;
  return {
    async inspect() {
      const images = [
        ["destination", at.recordsOf("switchover-claim")[0]],
        ["source", at.recordsOf("switchover-clear")[0]],
      ] as const;
      const clean = images.flatMap(([side, image]) =>
        image?.automated_clean === undefined
          ? []
          : [field(side, ["automated_clean"], false, image.automated_clean)],
      );
      const marks = SIDES.map((side) => field(side, MARK, plan.id, undefined));
      // Values that another user changed are kept.
      const { todo } = await compared(at, [...clean, ...marks], "after");
      return todo.length === 0 ? REACHED : next(todo, {});
    },
  };
}

async function back(at: SwitchAt, changes: readonly NodeField[]): Promise<SwitchPosition> {
  const { todo, conflicts: others } = await compared(at, changes.toReversed(), "before");
  if (todo.length > 0) return { ...next(todo), reasons: others };
  return others.length === 0 ? REACHED : blocked(...others);
}
