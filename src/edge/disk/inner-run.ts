import { lstat, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MigrationError, systemCode } from "../../model/error.ts";
import type { Entries } from "../../model/journal.ts";
import { shellWord } from "../../model/text.ts";
import { notRead, notWritten } from "./failure.ts";
import { readJournal } from "./journal.ts";
import { openManifest, PLAN } from "./plan-folder.ts";
import { INNER, type RunFolder } from "./run-folder.ts";

/** What a run inside of a run shares with it, besides its plan. */
const SHARED = ["snapshot.jsonl", "power.jsonl", "secret.key"];

/** For whoever looks. */
const ABOUT =
  "The journal here is of copies that a rehearsal made: --run wants the folder above.\n";

/**
 * An empty run inside of a run: its plan, snapshot, readings and key are links to the run's; its journal and
 * whatever a command writes are its own. What was of this name before is gone.
 *
 * @throws MigrationError N2I-E110, N2I-E120, N2I-E352 where the last one's journal is of more than copies
 */
export async function makeInnerRun(run: RunFolder, name: string): Promise<RunFolder> {
  const inner = { path: join(run.path, name) };
  const { folder } = await openManifest(join(run.path, PLAN));
  try {
    await removeInnerRun(run, name);
    await mkdir(inner.path, { mode: 0o700 });
    await writeFile(join(inner.path, INNER), ABOUT, { mode: 0o600 });
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
  if (inner === null) return;
  const { entries } = await readJournal(inner);
  const isMarked = await isAt(join(inner.path, INNER));
  if (!(isMarked ? isOfCopies(entries) : isWithoutWork(entries))) throw ofMore(inner);
  await rm(inner.path, { recursive: true });
}

/**
 * An earlier version let any command work on it, and marked it with nothing: what was done while the copy of a
 * rehearsal that was killed was there may have been done without it.
 */
function isWithoutWork(entries: Entries): boolean {
  return entries.every(({ do: what }) => ["open", "resource", "made", "gone"].includes(what));
}

/** Whether all that was done was done while there was a copy to do it on. */
function isOfCopies(entries: Entries): boolean {
  const there = new Set<string>();
  return entries.every((entry) => {
    // A borrowed index is no copy, and goes with its table.
    if (entry.do === "resource" && entry.kind === "index") return true;
    if (entry.do === "resource") there.add(entry.mark);
    else if (entry.do === "gone") there.delete(entry.mark);
    else return entry.do === "open" || there.size > 0;
    return true;
  });
}

/** Nothing else knows of those rows. */
function ofMore({ path }: RunFolder): MigrationError {
  const kept = `${dirname(path)}-loaded`;
  const [from, to] = [path, kept].map(shellWord);
  return new MigrationError(
    "N2I-E352",
    `${path} may have the only journal of what was done without a copy`,
    {
      why: "An earlier version let commands other than rehearse work on it, which wrote to Ironic or Nova.",
      fix: `Run: cp -rL ${from} ${to} && rm -f ${shellWord(join(kept, INNER))} ${shellWord(join(kept, "run.place"))}; take back what it loaded: nova2ironic rollback --run ${to} --all; then rm -r ${from}.`,
    },
  );
}

async function isAt(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
