import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { asWritten, openArtefact } from "../../edge/disk/artefact-reader.ts";
import { lockRun, openRun, type RunFolder } from "../../edge/disk/run-folder.ts";
import { createSeal, readKey } from "../../edge/disk/seal.ts";
import type {
  PlanCounts,
  PlanHeader,
  SnapshotCounts,
  SnapshotHeader,
} from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { Finding } from "../../model/finding.ts";
import type { BmInterface, Machine } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";

/** A snapshot's line: a machine, or an interface that belongs to none. */
export type SnapshotLine = Machine | { readonly orphan: BmInterface; readonly finding: Finding };

export const SNAPSHOT = "snapshot.jsonl";
export const PLAN = "plan.jsonl";

export function openSnapshot(path: string) {
  return openArtefact(path, "snapshot", {
    header: asWritten<SnapshotHeader>,
    line: asWritten<SnapshotLine>,
    counts: asWritten<SnapshotCounts>,
  });
}

export function openPlan(path: string) {
  return openArtefact(path, "plan", {
    header: asWritten<PlanHeader>,
    line: asWritten<PlannedMachine>,
    counts: asWritten<PlanCounts>,
  });
}

/** The key of a run; a key the artefact was not sealed with is refused before it is used. */
export async function sealOf(
  run: RunFolder,
  keyFile: string | undefined,
  sealedWith: string,
): Promise<Seal> {
  const seal = createSeal(await readKey(run.path, keyFile));
  if (seal.id !== sealedWith)
    throw new MigrationError(
      "N2I-E115",
      `${keyFile ?? join(run.path, "secret.key")} is another run's key`,
    );
  return seal;
}

/** Runs a stage that writes into the run folder, alone. */
export async function inRun<T>(
  path: string,
  command: string,
  options: { readonly create: boolean },
  work: (run: RunFolder) => Promise<T>,
): Promise<T> {
  const run = await openRun(path, options);
  const lock = await lockRun(run, command);
  try {
    return await work(run);
  } finally {
    await lock.release();
  }
}

/** Who acts, for the journal. */
export function whoami(): string {
  let user = String(process.getuid?.() ?? "?");
  try {
    user = userInfo().username;
  } catch {
    // A uid without a name is named by its number.
  }
  return `${user}@${hostname()} pid ${process.pid}`;
}
