import { lstat, mkdir, rm, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { MigrationError, systemCode } from "../../model/error.ts";
import { notRead, notWritten } from "./failure.ts";
import { openManifest, PLAN } from "./plan-folder.ts";
import type { RunFolder } from "./run-folder.ts";

/** What a run inside of a run shares with it, besides its plan. */
const SHARED = ["snapshot.jsonl", "power.jsonl", "secret.key"];

/**
 * An empty run inside of a run: its plan, snapshot, readings and key are links to the run's; its journal and
 * whatever a command writes are its own. What was of this name before is gone.
 *
 * @throws MigrationError N2I-E110, N2I-E120
 */
export async function makeInnerRun(run: RunFolder, name: string): Promise<RunFolder> {
  const inner = { path: join(run.path, name) };
  const { folder } = await openManifest(join(run.path, PLAN));
  try {
    await removeInnerRun(run, name);
    await mkdir(inner.path, { mode: 0o700 });
    const plan = basename(folder);
    await symlink(join("..", plan), join(inner.path, plan));
    // A copied run has the plan itself where others have a link to it.
    if (plan !== PLAN) await symlink(plan, join(inner.path, PLAN));
    for (const file of SHARED)
      if (await isAt(join(run.path, file))) await symlink(join("..", file), join(inner.path, file));
  } catch (cause) {
    throw notWritten(inner.path, cause);
  }
  return inner;
}

/** The run inside of a run, where there is one. @throws MigrationError N2I-E110 where it is something else */
export async function findInnerRun(run: RunFolder, name: string): Promise<RunFolder | null> {
  const path = join(run.path, name);
  const found = await lstat(path).catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notRead(path, cause);
  });
  if (found === null) return null;
  if (!found.isDirectory()) throw new MigrationError("N2I-E110", `${path} is not a folder`);
  return { path };
}

/** Links are removed, and not followed. */
async function removeInnerRun(run: RunFolder, name: string): Promise<void> {
  const inner = await findInnerRun(run, name);
  if (inner !== null) await rm(inner.path, { recursive: true });
}

async function isAt(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
