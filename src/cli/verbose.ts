import { io } from "./io.ts";
import { duration } from "./print/progress.ts";

/** Seconds between two lines of progress where there is no terminal. */
const INTERVAL = 1;

/** Stages of the commands under way that have ended, in milliseconds. */
const stages = new WeakMap<object, (readonly [title: string, took: number])[]>();

export function took(title: string, milliseconds: number): void {
  const ended = stages.get(io()) ?? [];
  ended.push([title, milliseconds]);
  stages.set(io(), ended);
}

/** What `-v` makes of a command's options; verify has a word of its own for rows that are as planned. */
export function verbosely(args: { [name: string]: unknown }, command: string): void {
  if (args.verbose !== true) return;
  args.progressInterval = Math.min(Number(args.progressInterval), INTERVAL);
  if ("allRows" in args && command !== "verify") args.allRows = true;
}

/** How long the stages took, for `-v`; null where there was none. */
export function tookText(): string | null {
  const ended = stages.get(io()) ?? [];
  if (ended.length === 0) return null;
  return `Took: ${ended.map(([title, time]) => `${title} ${duration(time)}`).join(", ")}.`;
}
