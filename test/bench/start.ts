import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { program } from "../../src/run/files/package-root.ts";
import { writeCase } from "../cases/write-case.ts";
import { fleet } from "../support/fleet.ts";
import { inFolder, judge, type Write } from "./measure.ts";

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
    const starts: readonly (readonly [string, readonly string[], limit: number])[] = [
      ["node -e 0", ["-e", "0"], 1],
      ["--version", tool("--version"), 1.5],
      ["status of three machines", tool("status", ...run), 4.5],
      ["--help", tool("--help"), 4],
      ["completion of a command", tool(...completed, "ap"), 3.5],
      ["completion of an option", tool(...completed, "apply", "--"), 3.5],
    ];
    const taken = starts.map((): number[] => []);
    for (let turn = 0; turn < TURNS; turn += 1)
      for (const [at, [, words]] of starts.entries()) taken[at]?.push(node(words));
    const medians = taken.map((all) => all.sort((a, b) => a - b)[TURNS >> 1] ?? 0);
    write(`\nstart, in starts of bare Node, medians of ${TURNS}\n`);
    for (const [at, [what, , limit]] of starts.entries()) {
      const [took = 0, bare = 1] = [medians[at], medians[0]];
      judge(
        write,
        `${what.padEnd(26)}${took.toFixed(0).padStart(6)} ms, times`,
        took / bare,
        limit,
      );
    }
  });
}

function node(words: readonly string[]): number {
  const began = performance.now();
  execFileSync(process.execPath, words, { stdio: "ignore" });
  return performance.now() - began;
}
