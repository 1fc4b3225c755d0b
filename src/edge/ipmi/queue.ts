import type { PowerQuestion } from "../../model/power.ts";
import { IPMI_PORT } from "./address.ts";

/** Questions that wait, in an order that is shuffled, so that no enclosure is asked all at once. */
export interface Queue {
  /** Reads on until the window is full or nothing is left to read. */
  readonly fill: () => Promise<void>;
  /** A question whose BMC may be asked now; undefined when there is none. */
  readonly take: (delay: (bmc: string) => number) => PowerQuestion | undefined;
  /** Milliseconds until one that was held back may be asked; Infinity when none is. */
  readonly heldFor: (delay: (bmc: string) => number) => number;
  readonly isEmpty: () => boolean;
  /** Whether nothing waits for its first turn, but what is held back. */
  readonly isDrawn: () => boolean;
}

/** @param window questions in memory at most @param random at least 0, below 1 */
export function createQueue(
  questions: AsyncIterable<PowerQuestion>,
  window: number,
  random: () => number,
): Queue {
  const source = questions[Symbol.asyncIterator]();
  const waiting: PowerQuestion[] = [];
  /** Drawn while another session with their BMC was open or just over. */
  const held: PowerQuestion[] = [];
  /** Those of `waiting`, to find machines that share a BMC. */
  const places = new Map<string, number>();
  let ended = false;

  const add = (question: PowerQuestion): void => {
    const key = loginOf(question);
    const at = places.get(key);
    const same = at === undefined ? undefined : waiting[at];
    if (at !== undefined && same !== undefined && same.password() === question.password()) {
      const bm_node_ids = [...same.bm_node_ids, ...question.bm_node_ids];
      waiting[at] = { ...same, bm_node_ids };
      return;
    }
    places.set(key, waiting.length);
    waiting.push(question);
  };

  const draw = (): PowerQuestion | undefined => {
    const at = Math.floor(random() * waiting.length);
    const last = waiting.pop();
    if (last === undefined) return undefined;
    const drawn = at === waiting.length ? last : waiting[at];
    if (drawn === undefined) return undefined;
    places.delete(loginOf(drawn));
    if (drawn !== last) {
      waiting[at] = last;
      places.set(loginOf(last), at);
    }
    return drawn;
  };

  return {
    async fill() {
      if (waiting.length > window / 2) return;
      while (!ended && waiting.length < window) {
        const { done, value } = await source.next();
        if (done === true) ended = true;
        else add(value);
      }
    },
    take(delay) {
      const free = held.findIndex((question) => delay(bmcOf(question)) === 0);
      if (free >= 0) return held.splice(free, 1)[0];
      for (let drawn = draw(); drawn !== undefined; drawn = draw()) {
        if (delay(bmcOf(drawn)) === 0) return drawn;
        held.push(drawn);
      }
      return undefined;
    },
    heldFor: (delay) => Math.min(Infinity, ...held.map((question) => delay(bmcOf(question)))),
    isDrawn: () => ended && waiting.length === 0,
    isEmpty: () => ended && waiting.length === 0 && held.length === 0,
  };
}

/** All of a question but its secrets: machines that differ in it are asked apart. */
function loginOf(question: PowerQuestion): string {
  const { user, suite = "", level = "", kg } = question;
  const second = kg === undefined ? "" : Buffer.from(kg()).toString("hex");
  return `${bmcOf(question)}|${suite}|${level}|${second}|${user}`;
}

/** What must not be asked twice at a time. */
export function bmcOf({ address, port = IPMI_PORT }: PowerQuestion): string {
  return `${address}|${port}`;
}
