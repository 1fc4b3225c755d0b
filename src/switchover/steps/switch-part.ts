import type { Position, WindowPart } from "../../engine/window-part.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import type { NovaStep, RowState } from "../../model/nova/nova-plan.ts";
import { acceptedWrites, type NodeWrite, type switchCalls } from "../../systems/ironic-api/node.ts";
import type { openServerAllocations } from "../../systems/nova-api/allocations.ts";
import type {
  Fenced,
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

export function switchPart({ calls, recordsOf }: SwitchAt, step: JournalStep): SwitchPart {
  const made = making(calls);
  const imageOf = () => recordsOf(step.name)[0] ?? null;
  return {
    ...{ name: step.name, size: 1, overdue },
    inspect: async () => [await step.inspect(imageOf())],
    async perform(_change, { todo, image, acting }, begin) {
      await begin(image ?? imageOf() ?? {});
      acting?.();
      for (const write of todo) {
        const reason = await made(write);
        if (reason !== null && write.mayRefuse !== true) return blocked(reason);
      }
      return afterCalls(await step.inspect(imageOf()));
    },
  };
}

/** The rollback of a step: changes by other users are kept and reported. */
export function switchBackPart(
  { calls }: SwitchAt,
  { name, inspectBack }: JournalStep,
  image: JsonObject,
): SwitchPart {
  if (inspectBack === undefined) throw new Error(`${name} has no rollback`);
  const made = making(calls);
  return {
    ...{ name, size: 1, overdue, keepsBack: true },
    inspect: async () => [await inspectBack(image)],
    async perform(_change, { todo, reasons: earlier, image: proof, acting }, begin) {
      await begin(proof);
      acting?.();
      const reasons: string[] = [];
      for (const write of todo) {
        const one = await made(write);
        if (one !== null) reasons.push(one);
      }
      if (reasons.length > 0) return blocked(...new Set([...earlier, ...reasons]));
      return afterCalls(await inspectBack(image));
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

function afterCalls(reached: SwitchPosition): SwitchPosition {
  return reached.is === "before" ? { ...reached, is: "partway" } : reached;
}

function overdue({ id }: SwitchChange, { reasons }: SwitchPosition): SwitchPosition {
  return blocked(
    `it takes too long for node ${id}${reasons.length > 0 ? `: ${reasons.join("; ")}` : ""}`,
  );
}
