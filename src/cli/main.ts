#!/usr/bin/env node
import { writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../edge/disk/package-root.ts";
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

/** As Node says of a module that waits for what never comes. */
const NEVER_DONE = 13;

if (!answersVersion(process.argv.slice(2))) {
  const beside = join(dirname(fileURLToPath(import.meta.url)), "program.js");
  const { start } = loadProgram<typeof import("./start.ts")>(beside);
  let done = false;
  process.once("beforeExit", () => {
    if (!done) process.exitCode = NEVER_DONE;
  });
  void start(process).finally(() => {
    done = true;
  });
}
