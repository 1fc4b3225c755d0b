import type { JsonObject } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import { SWITCH_MARK, type SwitchStepName } from "../rules/switching.ts";
import { bothNodes, markOf, otherMark, ownersOf, unmarked } from "./switch-guard.ts";
import {
  blocked,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  type Write,
} from "./switch-part.ts";

/** The reasons against a write, from the current marks; empty: the write is made. */
type Against = (write: Pick<Write, "on">) => readonly string[];

/**
 * Checks the marks before each write: forward, both nodes need our mark; otherwise, nodes of
 * another switchover are skipped. The first step writes only marks, and compares them itself.
 */
export function owned(at: SwitchAt, step: SwitchStep): SwitchStep {
  const { name, inspect, inspectBack } = step;
  if (name === "switchover-hold") return step;
  const forth = name === "switchover-release" ? theirs : lost;
  return {
    ...step,
    inspect: async (image, records) => withOwner(await inspect(image, records), () => forth(at)),
    inspectBack:
      inspectBack &&
      (async (image) => {
        const position = await withOwner(await inspectBack(image), () => theirs(at));
        return OF_SOURCE.has(name) && position.is === "other"
          ? { ...position, ...(await lossOf(at)) }
          : position;
      }),
  };
}

/** Steps whose rollback changes the source or the volumes. */
const OF_SOURCE: ReadonlySet<SwitchStepName> = new Set<SwitchStepName>([
  "switchover-power",
  "switchover-maintenance",
  "switchover-unlink",
  "switchover-volumes",
]);

/** A switchover that has ended with all volumes leaves nothing to roll back. */
async function lossOf(at: SwitchAt): Promise<Pick<SwitchPosition, "is" | "isTheirs"> | null> {
  const { calls, plan } = at;
  const mark = (await calls.isNodeAbsent(plan.source))
    ? undefined
    : markOf(await calls.read(plan.source));
  const owners = await ownersOf(at);
  if (mark === plan.id || owners.includes(plan.destination)) return null;
  const foreign = owners.filter((owner) => owner !== null && owner !== plan.source);
  if (mark === undefined && foreign.length === 0) return null;
  const isOver = mark === undefined && foreign.length === owners.length;
  return isOver ? { is: "after" } : { is: "other", isTheirs: true };
}

async function withOwner(
  now: SwitchPosition,
  read: () => Promise<Against>,
): Promise<SwitchPosition> {
  if (now.todo.length === 0) return now;
  const against = await read();
  const skipped = now.todo.filter((write) => against(write).length > 0);
  const reasons = [...new Set([...now.reasons, ...skipped.flatMap(against)])];
  const todo = now.todo.filter((write) => !skipped.includes(write));
  if (todo.length > 0) return { ...now, reasons, todo: todo.map((write) => guarded(write, read)) };
  const isTheirs = skipped.every((write) => against(write).length === write.on.length);
  return { ...blocked(...reasons), ...(isTheirs && now.reasons.length === 0 && { isTheirs }) };
}

/** After a lock, another switchover may have marked the node. */
function guarded(write: Write, against: () => Promise<Against>): Write {
  const faultOf = async (): Promise<string | null> => (await against())(write)[0] ?? null;
  if ("make" in write)
    return { ...write, make: async () => (await faultOf()) ?? (await write.make()) };
  const read = async () => {
    const reason = await faultOf();
    return reason === null ? write.read() : { reason };
  };
  return { ...write, read };
}

async function lost(at: SwitchAt): Promise<Against> {
  const reason = unmarked(at, ...(await bothNodes(at)));
  return () => (reason === null ? [] : [reason]);
}

async function theirs(at: SwitchAt): Promise<Against> {
  const { id } = at.plan;
  const found = (await markedNodes(at)).filter((node) => markOf(node) !== id);
  return ({ on }) => found.filter(({ uuid }) => on.includes(String(uuid))).map(otherMark);
}

/** The nodes that keep our mark, and the command to remove it; empty: none. */
export async function remainingMarks(at: SwitchAt): Promise<readonly string[]> {
  const { id } = at.plan;
  const marked = (await markedNodes(at)).filter((node) => markOf(node) === id);
  if (marked.length === 0) return [];
  const command = `openstack baremetal node unset UUID --extra ${SWITCH_MARK}`;
  const uuids = marked.map(({ uuid }) => String(uuid)).join(" and ");
  return [`the mark is still on ${uuids}: run rollback again, or remove it with ${command}`];
}

async function markedNodes({ calls, plan }: SwitchAt): Promise<readonly JsonObject[]> {
  const both = [plan.source, plan.destination].map(async (uuid) =>
    (await calls.isNodeAbsent(uuid)) ? [] : [await calls.read(uuid)],
  );
  return (await inOrder(both)).flat().filter((node) => markOf(node) !== undefined);
}
