#!/usr/bin/env node
import { existsSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT_STATUS } from "../lib/exit-status.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { version } from "../run/files/package-root.ts";
import { loadProgram } from "./load-program.ts";

/** Answered before anything is loaded; a stdout that takes no line is met the long way. */
function answersVersion(words: readonly string[]): boolean {
  if (words.length !== 1 || words[0] !== "--version") return false;
  try {
    return writeSync(1, `${version()}\n`) > 0;
  } catch {
    return false;
  }
}

/** Nothing has begun yet: with half of it a command might end in its midst. */
function lacks(file: string): void {
  const checks = process.argv[2] === "check";
  process.stderr.write(
    `ERROR The installation is incomplete: ${file} is missing.\nFix: Install nova2ironic again.\n`,
  );
  process.exitCode = checks ? CHECK_STATUS.Error.status : EXIT_STATUS.failed.status;
}

if (!answersVersion(process.argv.slice(2))) {
  const folder = dirname(fileURLToPath(import.meta.url));
  const [program, packages] = [join(folder, "program.js"), join(folder, "packages.js")];
  const missing = [program, packages].find((file) => !existsSync(file));
  if (missing !== undefined) lacks(missing);
  else void loadProgram<typeof import("./start.ts")>(program).start(process);
}
