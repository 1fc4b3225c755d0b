#!/usr/bin/env node
import { writeSync } from "node:fs";
import { version } from "../edge/disk/package-root.ts";

/** Answered before anything is loaded; a stdout that takes no line is met the long way. */
function answersVersion(words: readonly string[]): boolean {
  if (words.length !== 1 || words[0] !== "--version") return false;
  try {
    return writeSync(1, `${version()}\n`) > 0;
  } catch {
    return false;
  }
}

if (!answersVersion(process.argv.slice(2))) {
  const { start } = await import("./start.ts");
  await start(process);
}
