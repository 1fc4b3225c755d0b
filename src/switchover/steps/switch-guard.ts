import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import { SWITCH_MARK, type SwitchSide, type SwitchStepName } from "../rules/switching.ts";
import {
  blocked,
  type JournalStep,
  next,
  type SwitchAt,
  type SwitchPosition,
  taken,
  WAITS,
  type Write,
} from "./switch-part.ts";

const PASSING: ReadonlySet<unknown> = new Set([
  ...["verifying", "cleaning", "clean wait", "deploying", "wait call-back", "deleting"],
]);

/** Ignores target_provision_state, which a failed node keeps. */
export function isBusy({ reservation, target_power_state, provision_state }: JsonObject): boolean {
  const has = (one: unknown): boolean => typeof one === "string" && one !== "";
  return has(reservation) || has(target_power_state) || PASSING.has(provision_state);
}

/** Milliseconds until a lock is an error. Ironic may wait for a BMC several times. */
const PASSES = 300_000;

/** Waits for a busy spare until the limit, because its conductor may be down. */
export function spareTimeout({ now }: Pick<SwitchAt, "now">) {
  let since: number | null = null;
  /** @returns null if the spare is not busy */
  return (spare: JsonObject): SwitchPosition | null => {
    if (!isBusy(spare)) {
      since = null;
      return null;
    }
    since ??= now();
    if (now() - since < PASSES) return WAITS;
    const { uuid, reservation, provision_state } = spare;
    const busy =
      typeof reservation === "string"
        ? `locked by host ${reservation}`
        : `in a transitional state: ${String(provision_state)}`;
    const reason = `node ${String(uuid)} is ${busy}, for ${PASSES / 1000} seconds`;
    return { ...taken(reason), code: "N2I-E380" };
  };
}

/** Whether the BMC reports power on. If it is unreachable, Ironic has an error or null. */
export function isLive({ power_state, last_error }: JsonObject): boolean {
  return power_state === "power on" && (last_error ?? null) === null;
}

export function isOff({ power_state, last_error }: JsonObject): boolean {
  return power_state === "power off" && (last_error ?? null) === null;
}

export function reasonFor({ id, destination }: SwitchAt["plan"]): string {
  return `nova2ironic switchover ${id} to ${destination}`;
}

/** Whether the last proof that the source is off came without its BMC. */
export function isFenced({ recordsOf }: Pick<SwitchAt, "recordsOf">): boolean {
  return recordsOf("switchover-power").at(-1)?.proof !== undefined;
}

/** The id of the switchover in the node's mark; undefined: none. */
export function markOf({ extra }: JsonObject): Json | undefined {
  return objectOf(extra)[SWITCH_MARK];
}

/** Why the nodes no longer have this switchover's marks, or null. */
export function unmarked(
  { plan }: Pick<SwitchAt, "plan">,
  ...nodes: readonly JsonObject[]
): string | null {
  const other = nodes.find((node) => markOf(node) !== plan.id);
  if (other === undefined) return null;
  if (markOf(other) !== undefined) return otherMark(other);
  const uuid = String(other.uuid);
  const mark = `openstack baremetal node set ${uuid} --extra ${SWITCH_MARK}=${plan.id}`;
  return `node ${uuid} no longer has the mark of this switchover (extra.${SWITCH_MARK}). If nothing else uses the node, mark it again with ${mark}`;
}

export function otherMark(node: JsonObject): string {
  return `node ${String(node.uuid)} is in switchover ${String(markOf(node))}: extra.${SWITCH_MARK}`;
}

/** The source and the destination, in this order. */
export function bothNodes({ calls, plan }: Pick<SwitchAt, "calls" | "plan">) {
  return inOrder([calls.read(plan.source), calls.read(plan.destination)]);
}

/** Why the source has another instance, or null. No instance is expected after the unlink step. */
export function otherInstance({ plan, recordsOf }: SwitchAt, source: JsonObject): string | null {
  const found = source.instance_uuid ?? null;
  if (found === plan.instance_uuid) return null;
  if (found === null && recordsOf("switchover-unlink").length > 0) return null;
  return `node ${plan.source} has instance ${String(found ?? "none")}, expected ${plan.instance_uuid}`;
}

/** Why the source is no longer in this run's maintenance, or null. */
export function unkept({ plan }: SwitchAt, source: JsonObject): string | null {
  return source.maintenance === true && source.maintenance_reason === reasonFor(plan)
    ? null
    : `node ${plan.source} is no longer in the maintenance of this switchover`;
}

export function ownersOf({ calls, plan }: SwitchAt): Promise<readonly (string | null)[]> {
  const owners = (["targets", "connectors"] as const).flatMap((kind) =>
    plan[kind].map((uuid) => calls.ownerOf(kind, uuid)),
  );
  return inOrder(owners);
}

export async function areVolumesOf(at: SwitchAt, side: SwitchSide): Promise<boolean> {
  return (await ownersOf(at)).every((owner) => owner === at.plan[side]);
}

/**
 * Reads the source's BMC again: in maintenance Ironic does not sync power, and `power off` of a
 * machine that is off only reads it.
 *
 * @returns `inspect`: null if the source is off now; `again` resets the proof
 */
export function offGuard(at: SwitchAt) {
  const { plan, fence } = at;
  const id = plan.source;
  const sent = new Set<string>();
  const unproven = (reason: string): SwitchPosition => ({ ...blocked(reason), unproven: true });
  return {
    inspect(image: JsonObject, node: JsonObject): SwitchPosition | null {
      if (isBusy(node)) return WAITS;
      const reason = unkept(at, node) ?? otherInstance(at, node);
      if (reason !== null) return blocked(reason);
      if (isLive(node)) return unproven(`node ${id} is on again`);
      if (!sent.has("power off"))
        return next([at.calls.power(id, { target: "power off" })], image, () =>
          sent.add("power off"),
        );
      if (isOff(node) || fence.counts) return null;
      const fields = `power_state is ${String(node.power_state ?? null)}, last_error ${String(node.last_error ?? null)}`;
      return unproven(`node ${id} is not confirmed to be off: ${fields}`);
    },
    again: () => sent.clear(),
  };
}

/** The reasons against a write, from the current marks; empty: the write is made. */
type Against = (write: Pick<Write, "on">) => readonly string[];

/**
 * Checks the marks before each write: forward, both nodes need our mark; otherwise, nodes of
 * another switchover are skipped. The first step writes only marks, and compares them itself.
 */
export function owned(at: SwitchAt, step: JournalStep): JournalStep {
  const { name, inspect, inspectBack } = step;
  if (name === "switchover-hold") return step;
  const forth = name === "switchover-release" ? theirs : lost;
  return {
    ...step,
    inspect: async (image) => withOwner(await inspect(image), () => forth(at)),
    ...(inspectBack && {
      async inspectBack(image) {
        const position = await withOwner(await inspectBack(image), () => theirs(at));
        return OF_SOURCE.has(name) && position.is === "other"
          ? { ...position, ...(await lossOf(at)) }
          : position;
      },
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
