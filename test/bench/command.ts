import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { program } from "../../src/edge/disk/package-root.ts";

/** What one process cost. */
export interface Cost {
  /** Wall clock, start of the process to its end. */
  readonly seconds: number;
  /** User and system, of the process alone; null where it was not asked. */
  readonly cpu: number | null;
  /** Peak, MiB; null where it was not asked. */
  readonly rss: number | null;
}

/** A stage as the command itself timed it, by its event lines: name -> seconds. */
export type Stages = { readonly [stage: string]: number };

const MAIN = program();
const USAGE = new URL("./usage.js", import.meta.url).href;

/**
 * Runs one command of the tool as an operator would, and measures it from outside.
 *
 * @param flags of Node, a profiler's for example
 * @throws Error with what it printed when it does not exit with 0
 */
export async function command(
  folder: string,
  words: readonly string[],
  flags: readonly string[] = [],
): Promise<Cost & { readonly stages: Stages }> {
  const usage = join(folder, "usage.json");
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [...flags, "--import", USAGE, MAIN, ...words, ...(words[0] === "--version" ? [] : ["--json"])],
    {
      cwd: folder,
      env: { ...process.env, N2I_BENCH_USAGE: usage },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [status] = await once(child, "close");
  const seconds = (performance.now() - began) / 1000;
  // check has something to say of every fleet.
  if (status !== 0 && words[0] !== "check")
    throw new Error(`${words.join(" ")}: exit ${status}\n${out}\n${errors}`);
  // Written by usage.ts.
  const used = JSON.parse(readFileSync(usage, "utf8")) as {
    readonly maxRSS: number;
    readonly userCPUTime: number;
    readonly systemCPUTime: number;
  };
  rmSync(usage);
  return {
    seconds,
    cpu: (used.userCPUTime + used.systemCPUTime) / 1e6,
    rss: used.maxRSS / 1024,
    stages: stagesOf(errors),
  };
}

function stagesOf(lines: string): Stages {
  const events = lines
    .split("\n")
    .filter((line) => line.includes('"stage_complete"'))
    // Event lines of the tool; `--json` promises these fields.
    .map((line) => JSON.parse(line) as { readonly stage: string; readonly elapsed_ms: number });
  return Object.fromEntries(events.map(({ stage, elapsed_ms }) => [stage, elapsed_ms / 1000]));
}
