#!/usr/bin/env node
import { writeSync } from "node:fs";
import { EXIT_STATUS } from "../lib/exit-status.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { version } from "../run/files/package-root.ts";

/** `--version` is answered before the program is loaded. A stdout that takes no line is left to the program. */
function answersVersion(words: readonly string[]): boolean {
  if (words.length !== 1 || words[0] !== "--version") return false;
  try {
    return writeSync(1, `${version()}\n`) > 0;
  } catch {
    return false;
  }
}

/** A file of the program or a package is missing. Nothing has begun yet. */
function endIncomplete(error: Error & { readonly code?: unknown }): void {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write(
    `ERROR The installation is incomplete: ${error.message}.\nFix: Install nova2ironic again.\n`,
  );
  const checks = process.argv[2] === "check";
  process.exitCode = checks ? CHECK_STATUS.Error.status : EXIT_STATUS.failed.status;
}

if (!answersVersion(process.argv.slice(2)))
  void import("./start.ts").then(({ start }) => start(process), endIncomplete);
