import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { isObject, type JsonObject, parsedJson } from "../../lib/json.ts";
import { surroundings } from "../process-context.ts";
import { whoami } from "../version.ts";
import type { RunFolder } from "./run-folder.ts";
import { refuseCopy } from "./run-place.ts";

const FILE = "window.jsonl";
const FORMAT = "nova2ironic/window@1";

/** A line of the record of a run's maintenance windows. */
interface WindowEntry {
  readonly do: "open" | "close" | "begin" | "end" | "accept";
  readonly at: string;
  readonly by: string;
  /** Of `begin`, `end` and `accept`. */
  readonly stage?: string;
  /** How a stage ended: `done`, or what refused or stopped it. Of `accept`, what was accepted. */
  readonly result?: string;
  /** Why a stage that writes ran outside a window. */
  readonly outside?: string;
}

/** The record, oldest first; what a kill cut off is left out. */
export async function readWindow({ path }: RunFolder): Promise<readonly WindowEntry[]> {
  const text = await readFile(join(path, FILE), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const entry = parsedJson(line);
    return isObject(entry) && typeof entry.do === "string" && typeof entry.at === "string"
      ? [entry as unknown as WindowEntry] // as it was written
      : [];
  });
}

/** The entry that opened the window that is open; null where none is. */
function openSince(entries: readonly WindowEntry[]): WindowEntry | null {
  const last = entries.findLast(({ do: what }) => what === "open" || what === "close");
  return last?.do === "open" ? last : null;
}

/** @throws MigrationError N2I-E120 */
export function recordWindow({ path }: RunFolder, entry: Omit<WindowEntry, "at" | "by">): void {
  const file = join(path, FILE);
  try {
    const handle = openSync(file, "a", 0o600);
    try {
      const line: JsonObject = { v: FORMAT, at: new Date().toISOString(), by: whoami(), ...entry };
      // A line that a kill cut off is not joined by the next.
      writeSync(handle, `\n${JSON.stringify(line)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    throw notWritten(file, cause);
  }
}

export async function isWindowOpen(run: RunFolder): Promise<boolean> {
  return openSince(await readWindow(run)) !== null;
}

/**
 * Opens a window unless one is open.
 *
 * @returns the entry that did
 * @throws MigrationError N2I-E222 for a copy of a run that has begun
 */
export async function openWindow(run: RunFolder): Promise<WindowEntry> {
  await refuseCopy(run);
  const open = openSince(await readWindow(run));
  if (open !== null) return open;
  recordWindow(run, { do: "open" });
  return openSince(await readWindow(run)) ?? { do: "open", at: "", by: "" };
}

/** @returns whether one was open */
export async function closeWindow(run: RunFolder): Promise<boolean> {
  if (openSince(await readWindow(run)) === null) return false;
  recordWindow(run, { do: "close" });
  return true;
}

/** Whether a window was declared, and none is open: what writes is refused. */
export async function isWindowClosed(run: RunFolder): Promise<boolean> {
  const entries = await readWindow(run);
  return openSince(entries) === null && entries.some(({ do: what }) => what === "open");
}

/**
 * Refuses before a person is asked, or anything is waited for, what the window or the journal would refuse later.
 *
 * @throws MigrationError N2I-E222 for a copy of a run that has begun, N2I-E327
 */
export async function checkWindow(run: RunFolder, stage: string): Promise<void> {
  await refuseCopy(run);
  if (surroundings().window.outside === undefined && (await isWindowClosed(run)))
    throw new MigrationError("N2I-E327", `the window of this run is closed, and ${stage} writes`);
}

/**
 * Something of a run is about to be written to. Whoever declared a window once wants one: outside of it
 * only with a reason. A run that never had one goes without, and the record says so.
 *
 * @param stage that writes
 * @returns what records its end
 * @throws MigrationError N2I-E327
 */
export async function enterWindow(
  run: RunFolder,
  stage: string,
): Promise<(result: string) => void> {
  await checkWindow(run, stage);
  const open = openSince(await readWindow(run));
  const { outside: reason } = surroundings().window;
  const outside = open === null ? (reason ?? "no window was declared") : undefined;
  if (outside !== undefined && outside === reason)
    surroundings().tell(`Outside a window: ${outside}`);
  recordWindow(run, { do: "begin", stage, ...(outside !== undefined && { outside }) });
  return (result) => recordWindow(run, { do: "end", stage, result });
}

/** How something ended that threw. */
export function resultOf(cause: unknown): string {
  return cause instanceof MigrationError ? cause.code : "failed";
}
