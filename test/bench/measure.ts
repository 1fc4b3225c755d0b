import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Write = (text: string) => void;

/** Reports a value and whether it is within its limit; MISSED makes the exit status 1. */
export function judge(write: Write, what: string, value: number, limit: number): void {
  write(`  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}, limit ${limit}\n`);
}

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
