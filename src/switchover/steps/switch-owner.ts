import type { JsonObject } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import { SWITCH_MARK, type SwitchStepName } from "../rules/switching.ts";
import { bothNodes, markOf, otherMark, ownersOf, unmarked } from "./switch-guard.ts";
import {
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  stays,
  type Write,
} from "./switch-part.ts";

/** Why a write is not made, by the marks as they are; empty: it is. */
type Against = (write: Pick<Write, "on">) => readonly string[];

/**
 * The same step, which reads the marks right before each write: forward, both nodes have ours; back, and at the end,
 * whatever is on a node of another switchover is left. The first step writes marks alone, and compares them itself.
 */
export function owned(at: SwitchAt, step: SwitchStep): SwitchStep {
  const { name, look, lookBack } = step;
  if (name === "switchover-hold") return step;
  const forth = name === "switchover-release" ? theirs : lost;
  return {
    ...step,
    look: async (image, kept) => withOwner(await look(image, kept), () => forth(at)),
    lookBack:
      lookBack &&
      (async (image) => {
        const seen = await withOwner(await lookBack(image), () => theirs(at));
        return OF_SOURCE.has(name) && seen.is === "other"
          ? { ...seen, ...(await lossOf(at)) }
          : seen;
      }),
  };
}

/** Steps whose way back is about the source, and about the volumes. */
const OF_SOURCE: ReadonlySet<SwitchStepName> = new Set<SwitchStepName>([
  "switchover-power",
  "switchover-maintenance",
  "switchover-unlink",
  "switchover-volumes",
]);

/**
 * How a step ends whose source another switchover has: its mark is on the source, or it has volumes. Once it has ended
 * with all of them, nothing can be taken back any more.
 */
async function lossOf(at: SwitchAt): Promise<Pick<SwitchPosition, "is" | "isTheirs"> | null> {
  const { calls, plan } = at;
  const mark = (await calls.isGone(plan.source))
    ? undefined
    : markOf(await calls.read(plan.source));
  const owners = await ownersOf(at);
  if (mark === plan.id || owners.includes(plan.destination)) return null;
  const others = owners.filter((owner) => owner !== null && owner !== plan.source);
  if (mark === undefined && others.length === 0) return null;
  const isOver = mark === undefined && others.length === owners.length;
  return isOver ? { is: "after" } : { is: "other", isTheirs: true };
}

async function withOwner(
  seen: SwitchPosition,
  read: () => Promise<Against>,
): Promise<SwitchPosition> {
  if (seen.todo.length === 0) return seen;
  const against = await read();
  const skipped = seen.todo.filter((write) => against(write).length > 0);
  const why = [...new Set([...seen.why, ...skipped.flatMap(against)])];
  const todo = seen.todo.filter((write) => !skipped.includes(write));
  if (todo.length > 0) return { ...seen, why, todo: todo.map((write) => guarded(write, read)) };
  const isTheirs = skipped.every((write) => against(write).length === write.on.length);
  return { ...stays(...why), ...(isTheirs && seen.why.length === 0 && { isTheirs }) };
}

/** A try that met a lock may come after the mark of another switchover. */
function guarded(write: Write, read: () => Promise<Against>): Write {
  const faultOf = async (): Promise<string | null> => (await read())(write)[0] ?? null;
  if ("make" in write)
    return { ...write, make: async () => (await faultOf()) ?? (await write.make()) };
  const look = async () => {
    const why = await faultOf();
    return why === null ? write.look() : { why };
  };
  return { ...write, look };
}

async function lost(at: SwitchAt): Promise<Against> {
  const why = unmarked(at, ...(await bothNodes(at)));
  return () => (why === null ? [] : [why]);
}

async function theirs(at: SwitchAt): Promise<Against> {
  const { id } = at.plan;
  const found = (await markedNodes(at)).filter((node) => markOf(node) !== id);
  return ({ on }) =>
    found.filter(({ uuid }) => on.includes(String(uuid))).map((node) => otherMark(node));
}

/** Says which nodes keep the mark of this switchover, and how to remove it; empty: none. */
export async function marksLeft(at: SwitchAt): Promise<readonly string[]> {
  const { id } = at.plan;
  const own = (await markedNodes(at)).filter((node) => markOf(node) === id);
  if (own.length === 0) return [];
  const command = `openstack baremetal node unset UUID --extra ${SWITCH_MARK}`;
  const uuids = own.map(({ uuid }) => String(uuid)).join(" and ");
  return [`the mark stays on ${uuids}: run rollback again, or remove it with ${command}`];
}

/** Nodes that a switchover has marked, of the two that are there. */
async function markedNodes({ calls, plan }: SwitchAt): Promise<readonly JsonObject[]> {
  const both = [plan.source, plan.destination].map(async (uuid) =>
    (await calls.isGone(uuid)) ? [] : [await calls.read(uuid)],
  );
  return (await inOrder(both)).flat().filter((node) => markOf(node) !== undefined);
}
