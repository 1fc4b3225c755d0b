import { mkdir, readdir, readFile, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notRead, notWritten } from "../../lib/files/failure.ts";
import { takeLock } from "../../lib/files/lock-file.ts";
import { removeLeftovers, writeAtomic } from "../../lib/files/temp-file.ts";
import { type Json, parsedJson } from "../../lib/json.ts";
import { shellArgument } from "../../lib/text.ts";

/** A private folder with the files of one run. */
export interface RunFolder {
  /** Absolute. */
  readonly path: string;
  /** The command that holds its lock. */
  readonly command?: string;
}

/**
 * Opens a run after a check that only this user can access it. `create` makes it and its parents.
 * @param inner allow a run within a run, whose journal is about copies
 * @throws MigrationError N2I-E110 with the command that fixes it, N2I-E120
 */
export async function openRun(
  path: string,
  { create, inner = false }: { readonly create: boolean; readonly inner?: boolean },
): Promise<RunFolder> {
  const run = { path: resolve(path) };
  if (create) {
    await made(run.path).catch((cause: unknown) => {
      const taken = systemCode(cause) === "EEXIST" || systemCode(cause) === "ENOTDIR";
      throw taken ? refusal(`${run.path} is not a folder`) : notWritten(run.path, cause);
    });
  }
  const found = await stat(run.path).catch((cause: unknown) => {
    const code = systemCode(cause) ?? "unknown";
    const fix = "Specify the folder of a run, or start a run with: nova2ironic extract";
    throw code === "ENOENT"
      ? refusal(`${run.path} does not exist`, fix)
      : refusal(`${run.path} cannot be read (${code})`);
  });
  if (!found.isDirectory()) throw refusal(`${run.path} is not a folder`);
  const user = process.getuid?.() ?? found.uid;
  if (found.uid !== user) {
    const fix = `Run: chown -R ${user} ${shellArgument(run.path)}, or work as user ${found.uid}.`;
    throw refusal(`${run.path} belongs to another user (uid ${found.uid})`, fix);
  }
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    const fix = (await mayBeRun(run.path))
      ? `Run: chmod 700 ${shellArgument(run.path)}`
      : "It is not a run. Specify a different folder, which extract creates.";
    throw refusal(`${run.path} is open to other users (mode ${mode})`, fix);
  }
  const names = await readdir(run.path).catch((cause: unknown) => {
    throw notRead(run.path, cause);
  });
  if (!inner && names.includes(INNER))
    throw refusal(
      `${run.path} belongs to a rehearsal, and its journal describes copies, not Ironic or Nova`,
      `Use --run ${shellArgument(dirname(run.path))}`,
    );
  return run;
}

/** Files of a run. The permissions of other folders, such as /tmp, must not be changed. */
const OF_RUN: readonly string[] = ["snapshot.jsonl", "run.lock", "journal.jsonl", "secret.key"];

async function mayBeRun(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  return names.length === 0 || names.some((name) => OF_RUN.includes(name));
}

/** Marks a run within a run. */
export const INNER = "inner-run";

/** Node's recursive mkdir reports ENOENT on a read-only disk. The plain one reports the cause. */
async function made(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    if (systemCode(cause) !== "ENOENT") throw cause;
    await mkdir(path, { mode: 0o700 });
  }
}

/**
 * Excludes other stages that write, until released or until this process ends. Readers need no
 * lock.
 * @param command shown to excluded processes, such as `apply`, without secrets
 * @returns a function that releases it
 * @throws MigrationError N2I-E302 with the holder, N2I-E120
 */
export async function lockRun(run: RunFolder, command: string): Promise<() => Promise<void>> {
  const release = await takeLock(join(run.path, "run.lock"), command);
  try {
    await removeLeftovers(run.path);
    return release;
  } catch (cause) {
    await release();
    throw cause;
  }
}

/** An optional note of the run. Null if missing or damaged. */
export async function readNote({ path }: RunFolder, name: string): Promise<Json> {
  const text = await readFile(join(path, name), "utf8").catch(() => "");
  return parsedJson(text);
}

/** Replaces the note, or leaves the previous one. @throws MigrationError N2I-E120 */
export async function writeNote({ path }: RunFolder, name: string, note: Json): Promise<void> {
  await writeAtomic(path, name, `${JSON.stringify(note, null, 2)}\n`);
}

/** Bytes that an unprivileged user may write in this folder. @throws MigrationError N2I-E120 */
export async function freeSpace(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (cause) {
    const reason = systemCode(cause) ?? "unknown";
    throw new MigrationError("N2I-E120", `the free space in ${path} cannot be read (${reason})`, {
      cause,
    });
  }
}

function refusal(message: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E110", message, fix === undefined ? {} : { fix });
}
