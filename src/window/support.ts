import { existsSync } from "node:fs";
import { readdir, readlink, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { runProgram } from "../lib/files/run-program.ts";
import { createTemp } from "../lib/files/temp-file.ts";
import { OF_A_PLAN, PLAN } from "../run/files/plan-folder.ts";
import { openRun } from "../run/files/run-folder.ts";
import { processContext } from "../run/process-context.ts";
import type { Sink } from "../run/sink.ts";
import { VERSION } from "../run/version.ts";
import { REHEARSAL } from "./rehearse/rehearsal-file.ts";

/** Files that this tool writes to a run, with sealed secrets. */
const RUN_FILES =
  /^((rehearsal\/)?(snapshot|power|journal|log|window)\.jsonl|(rehearsal\/)?(run\.json|planned\.json|connections\.yaml|verified\.json|inner-run|run\.place)|report\.html|rehearsal\.json|plan-[0-9a-f]{12}\/([a-z-]+\.jsonl|plan\.json))$/;
const IS_KEY = /(^|\/)secret\.key$/;

/** Milliseconds for tar. A fleet of 100,000 machines has a few hundred megabytes. */
const TAR_TIMEOUT_MS = 30 * 60_000;

/**
 * Packs a run's artifacts, journal and log for a bug report. Excludes the key of its secrets, and
 * all files of other origin.
 * @param to the archive. Default: `RUN-support.tar.gz` in the working folder
 * @throws MigrationError N2I-E100 if the archive exists, N2I-E110, N2I-E120, N2I-E400
 */
export async function support(options: { readonly run: string; readonly to?: string }, sink: Sink) {
  const run = await openRun(options.run, { create: false, inner: true });
  const { cwd, onInterrupt } = processContext();
  const path = resolve(cwd(), options.to ?? `${basename(run.path)}-support.tar.gz`);
  if (existsSync(path))
    throw new MigrationError("N2I-E100", `${path} already exists`, {
      fix: "Specify a different file with --to, or remove the existing file.",
    });
  sink.report(`${VERSION}, Node ${process.version}, ${process.platform} ${process.arch}`);
  const { files, skipped } = await filesOf(run.path);
  const temp = await createTemp(dirname(path), basename(path));
  const { signal, end } = onInterrupt();
  try {
    const args = ["--create", "--gzip", "--file", temp.path, "--directory", run.path, "--"];
    const fix = "Install tar and gzip, or copy the files listed yourself.";
    const ended = await runProgram(
      { name: "tar", program: "tar", args: [...args, ...files], environment: {}, fix },
      { deadline: TAR_TIMEOUT_MS, signal },
    );
    // 1: a file grew in the meantime, because another command writes to the log.
    if (ended.status !== 0 && ended.status !== 1)
      throw new MigrationError("N2I-E120", `${path}: tar: ${ended.stderr.trim().slice(-200)}`);
    await temp.commit();
  } finally {
    await temp.drop();
    end();
  }
  return { path, bytes: (await stat(path)).size, files, skipped };
}

/** Names below the run, and files that are excluded. */
async function filesOf(run: string) {
  const files: string[] = [];
  const skipped: { name: string; reason: string }[] = [];
  for (const entry of await readdir(run, { withFileTypes: true })) {
    const { name } = entry;
    const rehearsed = name === REHEARSAL;
    if (entry.isSymbolicLink() && name === PLAN && OF_A_PLAN.test(await readlink(join(run, PLAN))))
      files.push(name);
    else if (entry.isDirectory() && (rehearsed || OF_A_PLAN.test(name)))
      for (const inner of await readdir(join(run, name), { withFileTypes: true })) {
        // Files that a rehearsal shares with its run are links.
        if (!rehearsed || !inner.isSymbolicLink()) sort(`${name}/${inner.name}`, inner.isFile());
      }
    else sort(name, entry.isFile());
  }
  if (files.length === 0)
    throw new MigrationError("N2I-E110", `${run} does not contain any file that this tool wrote`);
  return { files: files.sort(), skipped };

  function sort(name: string, isFile: boolean): void {
    const reason = exclusionReason(name, isFile);
    if (reason === null) files.push(name);
    else skipped.push({ name, reason });
  }
}

function exclusionReason(name: string, isFile: boolean): string | null {
  if (IS_KEY.test(name)) return "it opens the run's secrets";
  if (!isFile) return "it is not a regular file";
  return RUN_FILES.test(name) ? null : "this tool did not write it";
}
