import type { Position, WindowPart } from "../../engine/window-part.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import type { NovaStep, RowState } from "../../model/nova/nova-plan.ts";
import { acceptedWrites, type NodeWrite } from "../../systems/ironic-api/node.ts";
import type { switchCalls } from "../../systems/ironic-api/switch-calls.ts";
import type { ServerAllocations } from "../../systems/nova-api/allocations.ts";
import type {
  Fenced,
  Switchover,
  SwitchSide,
  SwitchStepName,
  SwitchTimes,
} from "../rules/switching.ts";

/** What every step of a switchover sees. */
export interface SwitchAt {
  readonly calls: ReturnType<typeof switchCalls>;
  readonly plan: Switchover;
  /** Null where none of its rows is changed. */
  readonly nova: SwitchNova | null;
  readonly times: SwitchTimes;
  /** Milliseconds. */
  readonly now: () => number;
  /** What the journal keeps of a step, oldest first: what it found, before it changed anything. */
  readonly keptOf: (step: SwitchStepName) => readonly JsonObject[];
  /** Set once somebody but the BMC says that the source is off. */
  readonly fenced: () => Fenced | null;
  /**
   * Set in this process if a BMC did not answer and something else proved its node off: of the source whether `fenced`
   * counts, of the spare the proof. A journal does not set it, because the node may be on again.
   */
  readonly fence: { counts: boolean; spare: Fenced | null };
}

/** What a switchover asks of Nova's database and of Placement, and how it changes things there. */
export interface SwitchNova {
  readonly inspect: (change: NovaStep) => Promise<RowState>;
  /** @returns null, or why it is not as it was */
  readonly change: (change: NovaStep) => Promise<string | null>;
  /** Null where Placement is left alone. */
  readonly placement: ServerAllocations | null;
}

/** A change elsewhere than in Ironic. @returns null, or why it is refused */
interface OtherWrite extends Pick<NodeWrite, "what" | "on"> {
  readonly make: () => Promise<string | null>;
}

/** `repeats`: its step makes it again and again, and ends that itself. */
export type Write = (NodeWrite | OtherWrite) & {
  readonly repeats?: true;
  /** That it is refused says nothing: what comes next is decided by what is there then. */
  readonly mayRefuse?: true;
};

/** The source of a switchover, by the uuid of its node: each step is about it. */
interface SwitchChange {
  readonly id: string;
}

export interface SwitchPosition extends Position {
  /** What stands against it, or is left. */
  readonly why: readonly string[];
  /** Calls that are to be made now, in their order. */
  readonly todo: readonly Write[];
  /** What the journal keeps right before them. */
  readonly image?: JsonObject;
  /** Hears that they are made now: a look alone asks for nothing. */
  readonly acting?: () => void;
  /** Somebody else has the node. */
  readonly taken?: SwitchSide;
  /** How it is refused where it is taken back; of a node that is taken while the source is on alone. */
  readonly code?: RefusalCode;
  /** The source is not known to be off; on the way back: the spare. */
  readonly unproven?: true;
  /** All that is left is on nodes of another switchover. */
  readonly isTheirs?: true;
}

/** A step of a switchover: what is to be done next, and how it is taken back. It writes nothing itself. */
export interface SwitchStep {
  /** Names it in the journal. */
  readonly name: SwitchStepName;
  /**
   * @param image what it was before, once that is known
   * @param kept all that the journal keeps of it, oldest first
   */
  readonly look: (image: JsonObject | null, kept: readonly JsonObject[]) => Promise<SwitchPosition>;
  /** Null: there is no way back from here. */
  readonly lookBack: ((image: JsonObject) => Promise<SwitchPosition>) | null;
}

type SwitchPart = WindowPart<SwitchChange, SwitchPosition>;

export const WAITS: SwitchPosition = { is: "partway", why: [], todo: [] };
export const REACHED: SwitchPosition = { is: "after", why: [], todo: [] };

export function stays(...why: readonly string[]): SwitchPosition {
  return { is: "other", why, todo: [] };
}

/** @param image what the journal is to keep: what it was before, first of all */
export function next(
  todo: readonly Write[],
  image?: JsonObject,
  acting?: () => void,
): SwitchPosition {
  const more = { ...(image !== undefined && { image }), ...(acting !== undefined && { acting }) };
  return { is: "before", why: [], todo, ...more };
}

/** A step forward: calls are made in their order, then it is looked at again. */
export function switchPart({ calls, keptOf }: SwitchAt, step: SwitchStep): SwitchPart {
  const made = making(calls);
  const look = (): Promise<SwitchPosition> => {
    const kept = keptOf(step.name);
    return step.look(kept[0] ?? null, kept);
  };
  return {
    ...{ name: step.name, size: 1, overdue },
    inspect: async () => [await look()],
    async perform(_change, { todo, image, acting }, begin) {
      await begin(image ?? keptOf(step.name)[0] ?? {});
      acting?.();
      for (const write of todo) {
        const why = await made(write);
        if (why !== null && write.mayRefuse !== true) return stays(why);
      }
      return afterCalls(await look());
    },
  };
}

/** The same step taken back: what somebody else changed since is left, and told. */
export function switchBackPart(
  { calls }: SwitchAt,
  { name, lookBack }: SwitchStep,
  image: JsonObject,
): SwitchPart {
  if (lookBack === null) throw new Error(`${name} has no way back`);
  const made = making(calls);
  return {
    ...{ name, size: 1, overdue, keepsBack: true },
    inspect: async () => [await lookBack(image)],
    async perform(_change, { todo, why: left, image: proof, acting }, begin) {
      await begin(proof);
      acting?.();
      const why: string[] = [];
      for (const write of todo) {
        const one = await made(write);
        if (one !== null) why.push(one);
      }
      if (why.length > 0) return stays(...new Set([...left, ...why]));
      return afterCalls(await lookBack(image));
    },
  };
}

function making(calls: SwitchAt["calls"]): (write: Write) => Promise<string | null> {
  const accepted = acceptedWrites();
  return async (write) => {
    const exhausted = accepted.exhausted(write.what);
    if (exhausted !== null && write.repeats !== true) return `${exhausted} and changed nothing`;
    const why = await ("make" in write ? write.make() : calls.make(write));
    if (why === null) accepted.add(write.what);
    return why;
  };
}

/** What has more calls to make is looked at again before each. */
function afterCalls(reached: SwitchPosition): SwitchPosition {
  return reached.is === "before" ? { ...reached, is: "partway" } : reached;
}

function overdue({ id }: SwitchChange, { why }: SwitchPosition): SwitchPosition {
  return stays(`it takes too long for node ${id}${why.length > 0 ? `: ${why.join("; ")}` : ""}`);
}
