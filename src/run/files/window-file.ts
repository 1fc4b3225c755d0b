import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { isObject, parsedJson } from "../../lib/json.ts";
import { processContext } from "../process-context.ts";
import { whoami } from "../version.ts";
import type { RunFolder } from "./run-folder.ts";
import { refuseCopy } from "./run-identity.ts";

const FILE = "window.jsonl";
const FORMAT = "nova2ironic/window@1";

/** A line of window.jsonl. */
interface WindowEntry {
  readonly do: "open" | "close" | "begin" | "end" | "accept";
  readonly at: string;
  readonly by: string;
  /** For `begin`, `end` and `accept`. */
  readonly stage?: string;
  /** Result of a stage: `done`, or its error. For `accept`, the accepted object. */
  readonly result?: string;
  /** Reason of a stage that wrote outside a window. */
  readonly outside?: string;
}

/** Oldest first, without a line that a kill cut off. */
export async function readWindow({ path }: RunFolder): Promise<readonly WindowEntry[]> {
  const text = await readFile(join(path, FILE), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const entry = parsedJson(line);
    return isObject(entry) && typeof entry.do === "string" && typeof entry.at === "string"
      ? [entry as unknown as WindowEntry] // as it was written
      : [];
  });
}

/** Entry that opened the open window, else null. */
function openSince(entries: readonly WindowEntry[]): WindowEntry | null {
  const last = entries.findLast(({ do: what }) => what === "open" || what === "close");
  return last?.do === "open" ? last : null;
}

/** @throws MigrationError N2I-E120 */
export function recordWindow(
  { path }: RunFolder,
  entry: Omit<WindowEntry, "at" | "by">,
): WindowEntry {
  const file = join(path, FILE);
  const line = { v: FORMAT, at: new Date().toISOString(), by: whoami(), ...entry };
  try {
    // Start on a new line, because a kill may have cut off the previous one.
    const text = `\n${JSON.stringify(line)}\n`;
    writeFileSync(file, text, { flag: "a", mode: 0o600, flush: true });
  } catch (cause) {
    throw notWritten(file, cause);
  }
  return line;
}

export async function isWindowOpen(run: RunFolder): Promise<boolean> {
  return openSince(await readWindow(run)) !== null;
}

/** @returns the opening entry @throws MigrationError N2I-E222 for a copy of a started run */
export async function openWindow(run: RunFolder): Promise<WindowEntry> {
  await refuseCopy(run);
  return openSince(await readWindow(run)) ?? recordWindow(run, { do: "open" });
}

/** @returns whether one was open */
export async function closeWindow(run: RunFolder): Promise<boolean> {
  if (openSince(await readWindow(run)) === null) return false;
  recordWindow(run, { do: "close" });
  return true;
}

/** Whether the run has a window that is closed, so that writes are refused. */
export async function isWindowClosed(run: RunFolder): Promise<boolean> {
  const entries = await readWindow(run);
  return openSince(entries) === null && entries.some(({ do: what }) => what === "open");
}

/** Before any question or wait. @throws MigrationError N2I-E222 for a copied run, N2I-E327 */
export async function checkWindow(run: RunFolder, stage: string): Promise<void> {
  await refuseCopy(run);
  if (processContext().window.outside === undefined && (await isWindowClosed(run)))
    throw new MigrationError("N2I-E327", `the window of this run is closed: ${stage} writes data`);
}

/**
 * Records a stage that writes. A run with a window allows writes only in it, or with a reason. A
 * run without a window records that.
 * @param stage that writes
 * @returns a function that records its end
 * @throws MigrationError N2I-E327
 */
export async function enterWindow(
  run: RunFolder,
  stage: string,
): Promise<(result: string) => void> {
  await checkWindow(run, stage);
  const open = openSince(await readWindow(run));
  const { outside: reason } = processContext().window;
  const outside = open === null ? (reason ?? "no window was declared") : undefined;
  if (outside !== undefined && outside === reason)
    processContext().report(`Outside a window: ${outside}`);
  recordWindow(run, { do: "begin", stage, ...(outside !== undefined && { outside }) });
  return (result) => void recordWindow(run, { do: "end", stage, result });
}

export function resultOf(cause: unknown): string {
  return cause instanceof MigrationError ? cause.code : "failed";
}
