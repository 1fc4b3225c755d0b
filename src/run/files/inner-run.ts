import { existsSync, lstatSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { openManifest, PLAN } from "./plan-folder.ts";
import { INNER, type RunFolder } from "./run-folder.ts";

/** Files that a run within a run shares with it, in addition to its plan. */
const SHARED = ["run.json", "snapshot.jsonl", "power.jsonl", "secret.key"];

const ABOUT = "The journal here describes copies of databases. Pass the parent folder as --run.\n";

/**
 * Creates an empty run within a run, and replaces an earlier one with this name. Plan, snapshot,
 * readings and key are links. Journal and other files are its own.
 * @throws MigrationError N2I-E110 if the name is in use, N2I-E120
 */
export async function makeInnerRun(run: RunFolder, name: string): Promise<RunFolder> {
  const inner = { path: join(run.path, name) };
  const { folder } = await openManifest(join(run.path, PLAN));
  try {
    if (exists(inner.path)) {
      if (!existsSync(join(inner.path, INNER)))
        throw new MigrationError("N2I-E110", `${inner.path} was not created by a rehearsal`);
      // Links are removed, not followed.
      await rm(inner.path, { recursive: true });
    }
    await mkdir(inner.path, { mode: 0o700 });
    await writeFile(join(inner.path, INNER), ABOUT, { mode: 0o600 });
    const plan = basename(folder);
    await symlink(join("..", plan), join(inner.path, plan));
    // In a copied run, PLAN may be the folder instead of a link.
    if (plan !== PLAN) await symlink(plan, join(inner.path, PLAN));
    for (const file of SHARED)
      if (exists(join(run.path, file))) await symlink(join("..", file), join(inner.path, file));
  } catch (cause) {
    throw notWritten(inner.path, cause);
  }
  return inner;
}

/** Also for a link without its target. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
