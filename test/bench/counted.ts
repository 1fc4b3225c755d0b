import { join } from "node:path";
import { command } from "./command.ts";
import { COUNTING, type Counts, readCounts } from "./counts.ts";
import { SHARE } from "./growth.ts";
import { steps, withGround } from "./road.ts";

/** Machines; whole batches, but of Nova's rows. */
const SIZES = [500, 1000, 2000] as const;
/** What is done for twice as many machines more, where nothing is quadratic: twice as much, and what few batches differ. */
const LIMIT = 2.05;
/** What is so little that it says nothing: of two like runs of a small stage one enters some thousand blocks more. */
const LEAST = 8000;
/** What a part of a batch more does: of Nova's rows there is one at some sizes. */
const PART = 2000;

const WHAT: readonly (readonly [keyof Counts, string])[] = [
  ["blocks", "blocks of JavaScript"],
  ["steps", "operations of SQLite"],
];

/**
 * What each command does on SQLite, counted: the same on every machine, however busy, so that a small stage is judged
 * as well as a large one. What a built-in function does inside is not counted: of that the road's CPU a machine is all
 * there is, at 10,000 and at 100,000.
 * @returns what was found, for people; MISSED stands in front of what is too much
 */
export async function benchCounted(): Promise<string> {
  const walks: ReadonlyMap<string, Counts>[] = [];
  for (const size of SIZES) walks.push(await countedWalk(size));
  const missed: string[] = [];
  const lines = [...(walks[0]?.keys() ?? [])].map((stage) => {
    const told = WHAT.map(([what, words]) => {
      const [few = 0, some = 0, many = 0] = walks.map((one) => one.get(stage)?.[what] ?? 0);
      const [one, other] = [some - few, many - some];
      const growth = Math.max(other - PART, LEAST) / Math.max(one, LEAST);
      if (growth > LIMIT)
        missed.push(`  MISSED ${stage}: ${words} ${growth.toFixed(2)}, limit ${LIMIT}\n`);
      return `${one.toFixed(0).padStart(9)}${other.toFixed(0).padStart(9)} ${growth.toFixed(2)}`;
    });
    return `  ${stage.padEnd(15)}${told.join("")}\n`;
  });
  const all = `  held   all: what twice the machines do, limit ${LIMIT}\n`;
  return [
    `\n${WHAT.map(([, words]) => words).join(" and ")}, beyond the fewer, ${SIZES.join(", ")} machines\n`,
    ...lines,
    ...(missed.length > 0 ? missed : [all]),
  ].join("");
}

function countedWalk(machines: number): Promise<ReadonlyMap<string, Counts>> {
  return withGround(null, { machines, share: SHARE }, async (ground) => {
    const path = join(ground.folder, "counts.json");
    const env = { N2I_BENCH_COUNTS: path };
    const walked = new Map<string, Counts>();
    for (const { stage, words } of steps(ground, "changed")) {
      await command(ground.folder, words, { flags: COUNTING, env });
      walked.set(stage, readCounts(path));
    }
    return walked;
  });
}
