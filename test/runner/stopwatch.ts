import { appendFileSync, readFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into each process of test files: writes down how long a file took, and the seconds of
 * processor it and the programs it waited for have used. What is left as the process ends goes to
 * the file it was started with.
 */
const TESTS = fileURLToPath(new URL("..", import.meta.url));
const { N2I_TIMES: times, NODE_TEST_CONTEXT: inTest } = process.env;
const main = process.argv[1];

let last = { seconds: 0, processor: 0 };

/** What was used since the last time it was asked is a file's, named as below .build/test. */
export function took(file: string): void {
  const now = { seconds: process.uptime(), processor: processor() };
  const used = [now.seconds - last.seconds, now.processor - last.processor];
  last = now;
  if (times === undefined || inTest === undefined) return;
  appendFileSync(times, `${[file, ...used.map((one) => one.toFixed(1))].join("\t")}\n`);
}

if (isMainThread && main !== undefined)
  process.once("exit", () => took(main.startsWith(TESTS) ? relative(TESTS, main) : basename(main)));

function processor(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6 + ofChildren();
}

/** @source proc(5): cutime and cstime, in ticks of 10 ms, of children that were waited for */
function ofChildren(): number {
  const text = readFileSync("/proc/self/stat", "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
