import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { descendants, textOf } from "./processes.ts";

const PACE_MS = 5000;
const KIB = 1024;

/** What a cloud's processes hold, and the data that its database keeps in memory. */
export interface Memory {
  /** MiB, the most that was seen since it was asked the last time. */
  readonly peak: () => number;
  readonly stop: () => void;
}

/**
 * Looks again and again at all processes that this one started: a page that several share counts once.
 *
 * @param data a folder that is in memory
 */
export function watchMemory(data: string): Memory {
  let most = 0;
  const look = (): void => {
    const held = descendants().reduce((sum, pid) => sum + lockHolderOf(pid), 0);
    most = Math.max(most, held + sizeOf(data) / KIB);
  };
  const looks = setInterval(look, PACE_MS);
  looks.unref();
  return {
    peak: () => {
      look();
      const peak = Math.round(most / KIB);
      most = 0;
      return peak;
    },
    stop: () => clearInterval(looks),
  };
}

/** KiB. */
function lockHolderOf(pid: number): number {
  const [, pss = "0"] = /^Pss:\s+(\d+)/m.exec(textOf(pid, "smaps_rollup")) ?? [];
  return Number(pss);
}

function sizeOf(folder: string): number {
  let sum = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    // Blocks: files of a database have holes.
    const one = statSync(join(folder, name), { throwIfNoEntry: false });
    sum += (one?.blocks ?? 0) * 512;
  }
  return sum;
}
