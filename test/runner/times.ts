import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How long test files took when it was last recorded, in seconds; short ones are not in it. */
const RECORD = fileURLToPath(new URL("../../../test/runner/seconds.json", import.meta.url));

/** From this on a file's place in the order matters. */
const LONG_S = 5;
const NAMED = 10;

/** One test file's time: in all, and of the processor, its programs included. */
export interface Took {
  readonly file: string;
  readonly seconds: number;
  readonly processor: number;
}

/** Files that share the one Ironic of a run: beside each other they would only wait. */
const SHARING = /^ironic[/]/;
/** How many others start for one of them. */
const BETWEEN = 3;

/** The longest first, so that none of them is still running when all others have ended. */
export function longestFirst(
  files: readonly string[],
  recorded: ReadonlyMap<string, number> = recordedTimes(),
): readonly string[] {
  const seconds = (file: string): number => recorded.get(file) ?? 0;
  const sorted = files.toSorted((a, b) => seconds(b) - seconds(a));
  const others = sorted.filter((file) => !SHARING.test(file));
  const spread = sorted
    .filter((file) => SHARING.test(file))
    .flatMap((file, at) => [file, ...others.slice(at * BETWEEN, (at + 1) * BETWEEN)]);
  return [...spread, ...others.filter((file) => !spread.includes(file))];
}

/** Whether it took long when it was last recorded. */
export function isLong(file: string): boolean {
  return recordedTimes().has(file);
}

/** What the stopwatches of the files wrote, the longest first. */
export function timesIn(path: string): readonly Took[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"))
    .map(([file = "", seconds, processor]) => ({
      ...{ file, seconds: Number(seconds), processor: Number(processor) },
    }))
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** The files that took longest, as a table. */
export function longest(took: readonly Took[]): readonly string[] {
  const number = (value: number): string => value.toFixed(1).padStart(9);
  return [
    `  seconds processor  the ${Math.min(NAMED, took.length)} longest of ${took.length} test files`,
    ...took.slice(0, NAMED).map((one) => {
      return `${number(one.seconds)} ${number(one.processor)}  ${one.file}`;
    }),
  ];
}

/** Keeps the times of a whole run for the order of the next ones. */
export function record(took: readonly Took[]): void {
  const kept = took.filter(({ seconds }) => seconds >= LONG_S);
  const text = kept.map(({ file, seconds }) => `  ${JSON.stringify(file)}: ${Math.round(seconds)}`);
  writeFileSync(RECORD, `{\n${text.join(",\n")}\n}\n`);
}

function recordedTimes(): ReadonlyMap<string, number> {
  if (!existsSync(RECORD)) return new Map();
  // The form is that of `record`.
  const times = JSON.parse(readFileSync(RECORD, "utf8")) as { readonly [file: string]: number };
  return new Map(Object.entries(times));
}
