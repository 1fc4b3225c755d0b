import type { run } from "node:test";
import { inspect } from "node:util";

const LONGEST = 8;

export interface Counted {
  passed: number;
  failed: number;
  skipped: number;
}

/** Prints a line for each file, each failure with its reason, and at the end the longest files. */
export async function report(results: ReturnType<typeof run>, print: (text: string) => void) {
  const counted: Counted = { passed: 0, failed: 0, skipped: 0 };
  const took: { readonly name: string; readonly seconds: number }[] = [];
  const ended = (name: string, ms: number): void => {
    took.push({ name, seconds: ms / 1000 });
    print(`${(ms / 1000).toFixed(1).padStart(6)} s  ${name}\n`);
  };
  results.on("test:pass", ({ name, nesting, skip, details }) => {
    if (nesting === 0) return ended(name, details.duration_ms);
    if (details.type === "suite") return;
    if (skip === undefined || skip === false) counted.passed += 1;
    else {
      counted.skipped += 1;
      print(`skipped: ${name}: ${skip}\n`);
    }
  });
  results.on("test:fail", ({ name, nesting, details }) => {
    const { error, duration_ms: ms } = details;
    if (nesting === 0) ended(name, ms);
    // Each test that failed is reported by itself.
    if ("failureType" in error && error.failureType === "subtestsFailed") return;
    counted.failed += 1;
    print(`${"  ".repeat(nesting)}FAILED: ${name}\n${inspect(error.cause ?? error)}\n`);
  });
  results.on("test:stderr", ({ message }) => print(message));
  for await (const _ of results);
  const longest = took.toSorted((a, b) => b.seconds - a.seconds).slice(0, LONGEST);
  for (const { name, seconds } of longest) print(`${seconds.toFixed(1).padStart(8)} s  ${name}\n`);
  return counted;
}
