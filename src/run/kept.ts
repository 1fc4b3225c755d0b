import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { writeWhole } from "../lib/files/temp-file.ts";
import { isObject, parsedJson } from "../lib/json.ts";
import { MANIFEST, PLAN } from "./files/plan-folder.ts";
import type { RunFolder } from "./files/run-folder.ts";
import { readDocument } from "./files/yaml-file.ts";
import { CONNECTIONS, withoutSecret } from "./next.ts";
import { type Connection, surroundings } from "./process-context.ts";

const FILE = "connections.yaml";
const FORMAT = "nova2ironic/connections@1";
const HEAD = `# Where this run's databases, services and files are: what its commands were given. Edit it as nova2ironic.yaml.\nformat: ${FORMAT}\n`;

export function keptFile(run: string): string {
  return join(run, FILE);
}

/**
 * What a run keeps of where everything is, by option; empty where it keeps nothing, or where the
 * folder is not this user's alone, which opening it refuses by itself.
 *
 * @param run absolute
 * @throws MigrationError N2I-E101, N2I-E108 for a file that somebody edited wrongly
 */
export async function readKept(run: string): Promise<ReadonlyMap<string, Connection>> {
  const file = keptFile(run);
  if (!isOurs(run) || !existsSync(file)) return new Map();
  const words = quickly(file);
  if (words !== null) return words;
  // Loaded for a file that a person edited: the schema and its checker take longer than most commands.
  const { readConnections } = await import("./connections.ts");
  return readConnections(file);
}

/** Writes it whole, and tells the lines that name a next command. @throws MigrationError N2I-E120 */
export async function writeKept(
  { path }: RunFolder,
  words: ReadonlyMap<string, Connection>,
): Promise<void> {
  const lines = [...words].map(
    ([option, word]) => `${option.replaceAll("-", "_")}: ${JSON.stringify(word)}\n`,
  );
  await writeWhole(path, FILE, `${HEAD}${lines.join("")}`);
  surroundings().kept.set(path, words);
}

/** Whether the run's plan changes or watches Nova; a plan that cannot be read is looked at by whoever needs it. */
export async function plansNova(run: string): Promise<boolean> {
  const plan = parsedJson(await readFile(join(run, PLAN, MANIFEST), "utf8").catch(() => ""));
  return !isObject(plan) || plan.nova !== null || plan.kind === "hosts";
}

function isOurs(run: string): boolean {
  const found = statSync(run, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o077) === 0;
}

/** Null for what the reader of every file of connections refuses by itself. */
function quickly(file: string): ReadonlyMap<string, Connection> | null {
  try {
    return asWritten(readDocument(file, { trusted: true }));
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return null;
  }
}

/** The words of a file as this tool writes it; null where somebody else wrote some of it. */
function asWritten(text: string): ReadonlyMap<string, Connection> | null {
  if (!text.startsWith(HEAD) || !text.endsWith("\n")) return null;
  const words = new Map<string, Connection>();
  for (const line of text.slice(HEAD.length).split("\n").slice(0, -1)) {
    const [, key = "", value = ""] = /^([a-z_]+): (.+)$/.exec(line) ?? [];
    const option = key.replaceAll("_", "-");
    const word: unknown = parsedJson(value);
    if (!CONNECTIONS.includes(option) || words.has(option) || !isConnection(word)) return null;
    words.set(option, word);
  }
  return words;
}

function isConnection(word: unknown): word is Connection {
  if (typeof word === "number" || typeof word === "boolean") return true;
  const words: readonly unknown[] = Array.isArray(word) ? word : [word];
  return (
    words.length > 0 &&
    words.every((one) => typeof one === "string" && one !== "" && withoutSecret(one) === one)
  );
}
