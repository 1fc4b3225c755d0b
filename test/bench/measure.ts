import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Write = (text: string) => void;

/** Reports a value and whether it is within its limit; MISSED makes the exit status 1. */
export function judge(write: Write, what: string, value: number, limit: number): void {
  write(`  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}, limit ${limit}\n`);
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface Ends {
  readonly after: (end?: unknown) => void;
}

export async function withEnds<T>(work: (t: Ends) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await work({ after: (end) => void ends.push(end as () => unknown) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
