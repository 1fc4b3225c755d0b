import { link } from "node:fs/promises";
import { join, parse } from "node:path";
import { MigrationError } from "../../model/error.ts";
import { type FileKind, openFile, readEnding, refusal } from "./artefact-check.ts";
import { notRead, notWritten, systemCode } from "./failure.ts";
import type { RunFolder } from "./run-folder.ts";
import { syncFolder } from "./temp-file.ts";

/**
 * Makes an artefact replaceable: when its digest is one of `keep` (those the journal names), it
 * gets a second name, `plan-<12 of sha256>.jsonl`, before a new one takes the first.
 *
 * @returns the second name's path; null when nothing had to be kept
 * @throws MigrationError N2I-E112 when another file has the second name already, N2I-E120
 */
export async function replaceable(
  run: RunFolder,
  name: string,
  keep: ReadonlySet<string>,
): Promise<string | null> {
  const path = join(run.path, name);
  const sha256 = await digestIn(path, null);
  if (sha256 === null || !keep.has(sha256)) return null;
  const kept = archived(run, name, sha256);
  try {
    await link(path, kept);
    await syncFolder(run.path);
  } catch (cause) {
    if (systemCode(cause) !== "EEXIST") throw notWritten(kept, cause);
    if ((await digestIn(kept, null)) !== sha256) {
      throw refusal("N2I-E112", kept, "is not the file it is named for");
    }
  }
  return kept;
}

/**
 * The path of the plan with this digest, the present one or one kept. Only its footer was read;
 * openArtefact checks the rest.
 *
 * @throws MigrationError N2I-E110 when the run has none
 */
export async function findPlan(
  run: RunFolder,
  sha256: string,
  kind: "plan" | "nova" = "plan",
): Promise<string> {
  const name = `${kind}.jsonl`;
  const kept = archived(run, name, sha256);
  for (const path of [join(run.path, name), kept]) {
    if ((await digestIn(path, kind)) === sha256) return path;
  }
  const message = `${run.path} has no ${kind === "nova" ? "plan for Nova" : kind} with the digest ${sha256.slice(0, 12)}`;
  throw new MigrationError("N2I-E110", message, {
    fix: `Put that plan back as ${kept}: the journal speaks of its lines.`,
  });
}

function archived(run: RunFolder, name: string, sha256: string): string {
  const { name: stem, ext } = parse(name);
  return join(run.path, `${stem}-${sha256.slice(0, 12)}${ext}`);
}

/** What the footer says; null when the file is missing or no whole artefact. */
async function digestIn(path: string, kind: FileKind | null): Promise<string | null> {
  try {
    const file = await openFile(path, kind);
    return await readEnding(file, path, kind)
      .then(({ sha256 }) => sha256)
      .finally(() => file.close());
  } catch (cause) {
    const why = notRead(path, cause);
    if (why instanceof MigrationError && systemCode(why.cause) !== "EACCES") return null;
    throw why;
  }
}
