import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { program } from "../../src/run/files/package-root.ts";
import { writeCase } from "../cases/write-case.ts";
import { fleet } from "../support/fleet.ts";
import { inFolder, middle, type Write } from "./measure.ts";

interface Start {
  readonly what: string;
  readonly words: readonly string[];
  readonly limit: number;
}

const BARE: Start = { what: "node -e 0", words: ["-e", "0"], limit: 1 };

/** Odd: there is a middle one. */
const TURNS = 15;

/**
 * What an operator waits for before anything is done, in starts of bare Node. In turns, so that other
 * work on the machine meets all; of each the median.
 */
export async function benchStart(write: Write): Promise<void> {
  await inFolder(async (folder) => {
    const { extract, ironic, plan } = await writeCase(fleet(3), folder);
    const run = ["--run", join(folder, "run")];
    const tool = (...words: readonly string[]) => [program(), ...words];
    node(tool("extract", ...run, ...extract));
    node(tool("plan", ...run, ...ironic, ...plan));
    const completed = ["--get-yargs-completions", "nova2ironic"];
    const starts: readonly Start[] = [
      BARE,
      { what: "--version", words: tool("--version"), limit: 1.5 },
      { what: "status of three machines", words: tool("status", ...run), limit: 4.5 },
      { what: "--help", words: tool("--help"), limit: 4 },
      { what: "completion of a command", words: tool(...completed, "ap"), limit: 3.5 },
      { what: "completion of an option", words: tool(...completed, "apply", "--"), limit: 3.5 },
    ];
    const taken = starts.map((): number[] => []);
    for (let turn = 0; turn < TURNS; turn += 1)
      for (const [at, { words }] of starts.entries()) taken[at]?.push(node(words));
    write(report(starts, taken.map(middle)));
  });
}

function node(words: readonly string[]): number {
  const began = performance.now();
  execFileSync(process.execPath, words, { stdio: "ignore" });
  return performance.now() - began;
}

function report(starts: readonly Start[], medians: readonly number[]): string {
  const bare = medians[0] ?? 1;
  const lines = starts.map(({ what, limit }, at) => {
    const took = medians[at] ?? 0;
    const times = took / bare;
    const verdict = times <= limit ? "held  " : "MISSED";
    const told = `${took.toFixed(0).padStart(6)} ms ${times.toFixed(2).padStart(6)}x`;
    return `  ${verdict} ${what.padEnd(26)}${told}, limit ${limit}x`;
  });
  return `\nstart, in starts of bare Node, medians of ${TURNS}\n${lines.join("\n")}\n`;
}
