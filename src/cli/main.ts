#!/usr/bin/env node
import { writeSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";
import { EXIT_STATUS } from "../lib/exit-status.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { packageRoot, version } from "../run/files/package-root.ts";

/** Answers `--version` before the program is loaded. The program reports an output error. */
function answersVersion(argv: readonly string[]): boolean {
  if (argv.length !== 1 || argv[0] !== "--version") return false;
  try {
    return writeSync(1, `${version()}\n`) > 0;
  } catch {
    return false;
  }
}

/** A file of the program or a package is missing. Nothing was started. */
function endIncomplete(error: Error & { readonly code?: unknown }): void {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write(
    `ERROR The installation is incomplete: ${error.message}.\nFix: Install nova2ironic again.\n`,
  );
  process.exitCode = (process.argv[2] === "check" ? CHECK_STATUS.Error : EXIT_STATUS.failed).status;
}

if (!answersVersion(process.argv.slice(2))) {
  // Node 22 and later. Anyone who can write the cache can change code that root runs, so the cache
  // is in the program's folder.
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  enableCompileCache?.(join(packageRoot(), "dist", "cache"));
  void import("./start.ts").then(({ start }) => start(process), endIncomplete);
}
