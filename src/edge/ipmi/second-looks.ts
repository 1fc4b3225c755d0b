import type { PowerQuestion, PowerReading, PowerVerdict } from "../../model/power.ts";
import { bmcOf } from "./queue.ts";

/** A BMC that is to be asked now. */
export interface Look {
  readonly question: PowerQuestion;
  readonly pass: 1 | 2;
  /** Milliseconds. */
  readonly deadline: number;
}

/** BMCs that failed in a way that time may better, each to be asked once more. */
export interface SecondLooks {
  /** @returns false when this failure is not looked at again */
  readonly add: (question: PowerQuestion, reading: PowerReading) => boolean;
  /** One whose BMC may be asked now; undefined when there is none. */
  readonly take: (delay: (bmc: string) => number) => Look | undefined;
  /** Milliseconds until one of them may be asked; Infinity when none waits. */
  readonly heldFor: (delay: (bmc: string) => number) => number;
  readonly isEmpty: () => boolean;
  /** What both looks together say. */
  readonly conclude: (look: Look, reading: PowerReading) => PowerReading;
  /** Of those that never had a second answer, what the first look said. */
  readonly owed: () => Iterable<PowerReading>;
}

/** Failures that a second look can better; a refusal is never among them. */
const AGAIN: readonly PowerVerdict[] = [
  ...(["unreachable", "port-closed", "no-slots", "busy", "protocol-error"] as const),
  "no-session",
];
/** Milliseconds: with less of the deadline left a BMC is not asked again. */
const LEAST = 1000;
/** These answer at once whenever they are asked: the second look holds nobody up for longer. */
const OCCUPIED: readonly PowerVerdict[] = ["no-slots", "busy"];
const OCCUPIED_LOOK = 7000;
const SAYS_LITTLE: readonly PowerVerdict[] = ["unreachable", "deadline"];

/** @param deadline milliseconds for both looks together */
export function createSecondLooks(deadline: number): SecondLooks {
  const waiting: Look[] = [];
  const firsts = new Map<string, PowerReading>();
  return {
    add(question, reading) {
      const left = deadline - reading.elapsed;
      if (!AGAIN.includes(reading.verdict) || left < LEAST) return false;
      firsts.set(nameOf(question), reading);
      const most = OCCUPIED.includes(reading.verdict) ? OCCUPIED_LOOK : Infinity;
      waiting.push({ question, pass: 2, deadline: Math.min(left, most) });
      return true;
    },
    take(delay) {
      const at = waiting.findIndex(({ question }) => delay(bmcOf(question)) === 0);
      return at < 0 ? undefined : waiting.splice(at, 1)[0];
    },
    heldFor(delay) {
      let least = Infinity;
      for (const { question } of waiting) least = Math.min(least, delay(bmcOf(question)));
      return least;
    },
    isEmpty: () => waiting.length === 0,
    conclude({ question }, second) {
      const first = firsts.get(nameOf(question));
      firsts.delete(nameOf(question));
      if (first === undefined) return { ...second, pass: 2 };
      const told = saysLess(second, first) ? first : second;
      return { ...told, pass: 2, attempts: first.attempts + second.attempts };
    },
    owed: () => firsts.values(),
  };
}

/** Machines that share BMC and credentials are one question, so the ids name it. */
function nameOf({ bm_node_ids }: PowerQuestion): string {
  return bm_node_ids.join(" ");
}

/** The second look has only the time that is left: that it saw nothing takes nothing back. */
function saysLess(second: PowerReading, first: PowerReading): boolean {
  return SAYS_LITTLE.includes(second.verdict) && !SAYS_LITTLE.includes(first.verdict);
}
