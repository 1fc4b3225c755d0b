import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into the process of each test file: as it ends, writes down how long it took, and the
 * seconds of processor it and the programs it waited for have used.
 */
const TESTS = fileURLToPath(new URL("..", import.meta.url));
const { N2I_TIMES: times, NODE_TEST_CONTEXT: inTest } = process.env;
const file = process.argv[1];

if (isMainThread && times !== undefined && inTest !== undefined && file !== undefined)
  process.once("exit", () => {
    const cells = [relative(TESTS, file), process.uptime().toFixed(1), processor().toFixed(1)];
    appendFileSync(times, `${cells.join("\t")}\n`);
  });

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
