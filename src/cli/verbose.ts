import { io } from "./io.ts";
import { duration } from "./print/progress.ts";

/** Seconds between two lines of progress without a terminal. */
const INTERVAL = 1;

const stages = new WeakMap<object, (readonly [title: string, took: number])[]>();

export function took(title: string, milliseconds: number): void {
  const ended = stages.get(io()) ?? [];
  ended.push([title, milliseconds]);
  stages.set(io(), ended);
}

/** Sets the options that `-v` implies. `verify` has its own meaning of `--all-rows`. */
export function verbosely(args: { [name: string]: unknown }, command: string): void {
  if (args.verbose !== true) return;
  args.progressInterval = Math.min(Number(args.progressInterval), INTERVAL);
  if ("allRows" in args && command !== "verify") args.allRows = true;
}

/** The duration of each stage for `-v`; null without stages. */
export function tookText(): string | null {
  const ended = stages.get(io()) ?? [];
  if (ended.length === 0) return null;
  return `Took: ${ended.map(([title, time]) => `${title} ${duration(time)}`).join(", ")}.`;
}
