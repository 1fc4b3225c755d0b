import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** Test files at a time: two for each processor, as many wait for a server, a program or a clock. */
const AT_ONCE = 2 * availableParallelism();

/**
 * What hangs is a failure after so many milliseconds. The longest group takes a tenth of it on a quiet host, and had not
 * ended after half an hour on one that was slow.
 */
const PATIENCE_MS = 50 * 60_000;

/** Runs these test files in the order they are given, which `node --test` would not keep. */
const [skips = "", ...files] = process.argv.slice(2);
const skipped: string[] = [];
const results = run({ files, concurrency: AT_ONCE, timeout: PATIENCE_MS });
results.on("test:fail", ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1;
});
results.on("test:pass", ({ name, skip }) => {
  if (skip !== undefined && skip !== false) skipped.push(`${name} # SKIP ${skip}`);
});
process.once("exit", () => writeFileSync(skips, skipped.join("\n")));
results.compose(new spec()).pipe(process.stdout);
