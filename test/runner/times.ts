import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { RECORD } from "./groups.ts";

/** Shorter files are not recorded. */
const RECORDED_S = 1;
const NAMED = 10;

/** One test file's time: in all, and of the processor, its programs included. */
export interface Took {
  readonly file: string;
  readonly seconds: number;
  readonly processor: number;
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
  const kept = took.filter(({ seconds }) => seconds >= RECORDED_S);
  const text = kept.map(({ file, seconds }) => `  ${JSON.stringify(file)}: ${Math.round(seconds)}`);
  writeFileSync(RECORD, `{\n${text.join(",\n")}\n}\n`);
}
