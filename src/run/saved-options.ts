import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../lib/error.ts";
import { writeAtomic } from "../lib/files/temp-file.ts";
import { isObject, type Json, parsedJson } from "../lib/json.ts";
import { readJournal } from "./files/journal.ts";
import { MANIFEST, PLAN } from "./files/plan-folder.ts";
import { type RunFolder, readNote, writeNote } from "./files/run-folder.ts";
import { readDocument } from "./files/yaml-file.ts";
import {
  absolute,
  camel,
  FOR_STAGES,
  type NextCommand,
  OPTIONS,
  otherLocation,
  PLANNED_FOR,
  savedName,
  withoutSecret,
} from "./next.ts";
import { type Connection, processContext } from "./process-context.ts";

type Saved = ReadonlyMap<string, Connection>;

const FILE = "connections.yaml";
const FORMAT = "nova2ironic/connections@1";
const HEAD = `# Options of earlier commands of this run. The command line overrides them. Edit this file like nova2ironic.yaml.\nformat: ${FORMAT}\n`;
const SECTION = "decisions:\n";
/** Options of the run's plan. */
const PLANNED = "planned.json";
const OF_PLAN: readonly string[] = [...FOR_STAGES.plan, "compute-host"];

/** Defaults, which are not saved. */
const USUAL: ReadonlyMap<string, Connection> = new Map([
  ["rate", 400],
  ["in-flight", 256],
  ["deadline", 60],
  ["max-unreachable", 0],
]);

export function savedFile(run: string): string {
  return join(run, FILE);
}

/**
 * Saved options of a run. Empty if there are none, or if the folder is accessible to other users,
 * which `openRun` refuses.
 * @param run absolute
 * @throws MigrationError N2I-E101, N2I-E108 for a wrongly edited file
 */
export async function readSaved(run: string): Promise<Saved> {
  const file = savedFile(run);
  if (!isPrivate(run) || !existsSync(file)) return new Map();
  try {
    const options = asWritten(readDocument(file, { trusted: true }));
    if (options !== null) return options;
  } catch (cause) {
    // Only the general reader can judge such a file.
    if (!(cause instanceof MigrationError)) throw cause;
  }
  // Loaded only for an edited file, because the schema checker takes longer than most commands.
  const { readConnections } = await import("./connections.ts");
  return readConnections(file);
}

/** Also updates the options of printed next commands. @throws MigrationError N2I-E120 */
async function writeSaved({ path }: RunFolder, options: Saved): Promise<void> {
  const line = ([option, value]: readonly [string, Connection]): string =>
    `${option.replaceAll("-", "_")}: ${JSON.stringify(value)}\n`;
  const all = [...options];
  const decisions = all.filter(([option]) => OPTIONS.decisions.has(option));
  const locations = all.filter(([option]) => !OPTIONS.decisions.has(option));
  const section = decisions.length === 0 ? "" : SECTION;
  const lines = [...locations.map(line), section, ...decisions.map((one) => `  ${line(one)}`)];
  await writeAtomic(path, FILE, `${HEAD}${lines.join("")}`);
  processContext().saved.set(path, options);
}

/**
 * Saves the options of a command for later ones. Called when every named database and service is
 * open, so that refused options are not saved.
 * @param args by yargs's names
 * @returns a function that restores the previous options
 * @throws MigrationError N2I-E120
 */
export async function saveOptions(
  run: RunFolder,
  command: NextCommand,
  args: object,
): Promise<() => Promise<void>> {
  // A rehearsal uses copies, which no later command may use.
  if (processContext().copies !== undefined) return async () => undefined;
  const before = await readSaved(run.path);
  const { now, dropped } = optionsToSave(command, args);
  const isElsewhere = !PLANNED_FOR.includes(command) && isOtherLocation(now, before);
  const isSource = (option: string): boolean =>
    command !== "extract" && ["nova-conf", "tftp-root"].includes(option);
  // Rollback of a load needs Nova's databases, regardless of the current ones.
  const journal = await orNull(readJournal(run));
  const isStarted = journal === null || journal.entries.length > 0;
  const isNeededBack = (option: string): boolean => isStarted && OPTIONS.nova.includes(option);
  const retained = [...before].filter(
    ([option]) =>
      (!isElsewhere ||
        OPTIONS.inherited.includes(option) ||
        isSource(option) ||
        isNeededBack(option)) &&
      !(OPTIONS.images.includes(option) && OPTIONS.images.some((name) => now.has(name))),
  );
  const saved = new Map(overlaid(new Map(retained), fileFor(command, now)));
  for (const option of dropped) saved.delete(option);
  await writeSaved(run, overlaid(saved, now));
  return () => writeSaved(run, before);
}

/** Options of nova2ironic.yaml. Runs of `host` and `node` use only their own command lines. */
function fileFor(command: NextCommand, now: Saved): Saved {
  const { connections } = processContext();
  const isHostOrNode = command === "host" || command === "node";
  if (isHostOrNode || isOtherLocation(now, connections)) return new Map();
  return new Map([...connections].filter(([option]) => OPTIONS.connections.includes(option)));
}

/** Replaces Ironic's location as a whole. */
function overlaid(under: Saved, over: Saved): Saved {
  const hasTarget = OPTIONS.backends.some((option) => over.has(option));
  const retained = [...under].filter(([option]) => !(hasTarget && OPTIONS.target.includes(option)));
  return new Map([...retained, ...over]);
}

/** Options of a command line to save, without secrets. */
function optionsToSave(command: NextCommand, args: object) {
  const values = new Map<string, unknown>(Object.entries(args));
  const now = new Map<string, Connection>();
  // A location with --without stays in the run. A decision is removed.
  const without = [values.get("without") ?? []].flat().map(String);
  const dropped = without.filter((option) => !OPTIONS.locations.includes(option));
  for (const option of new Set([...OPTIONS.connections, ...OPTIONS.decisionsOf(command)])) {
    const value = values.get(camel(option));
    const name = savedName(command, option);
    if (value === false || (value !== undefined && value === USUAL.get(option))) dropped.push(name);
    else if (isConnection(value)) now.set(name, absoluteOf(name, value));
  }
  return { now, dropped };
}

function absoluteOf(option: string, value: Connection): Connection {
  if (typeof value === "string") return absolute(option, value);
  return typeof value === "object" ? value.map((one) => absolute(option, one)) : value;
}

function isOtherLocation(now: Saved, before: Saved): boolean {
  const isOther = (name: string): boolean =>
    now.has(name) && JSON.stringify(now.get(name)) !== JSON.stringify(before.get(name));
  return otherLocation(before, isOther) !== null;
}

/** Saves the options of the run's plan. @throws MigrationError N2I-E120 */
export async function savePlanned(run: RunFolder, args: object): Promise<void> {
  const { now } = optionsToSave("plan", args);
  const planned = [...now].filter(([name]) => OF_PLAN.includes(name));
  await writeNote(run, PLANNED, Object.fromEntries(planned) as Json); // texts, numbers and lists of them
}

/**
 * Options whose current values differ from those of the run's plan.
 * @param args of plan
 * @param isAbsent whether an option was omitted intentionally
 */
export async function changedOptions(
  run: RunFolder,
  args: object,
  isAbsent: (name: string) => boolean,
): Promise<readonly string[]> {
  const planned = await readNote(run, PLANNED);
  if (!isObject(planned)) return [];
  const { now } = optionsToSave("plan", args);
  return OF_PLAN.filter(
    (name) =>
      (now.has(name) || isAbsent(name)) &&
      JSON.stringify(now.get(name)) !== JSON.stringify(planned[name]),
  );
}

/** Fills missing arguments from the saved options. */
export async function withSaved<T extends object>(
  run: RunFolder,
  names: readonly string[],
  args: T,
): Promise<T> {
  const saved = await readSaved(run.path);
  const found = names.flatMap((name) => {
    const value = saved.get(name);
    return value === undefined ? [] : [[camel(name), value] as const];
  });
  const specified = Object.entries(args).filter(([, value]) => value !== undefined);
  return { ...args, ...Object.fromEntries([...found, ...specified]) };
}

/** True if the plan is unreadable, so that a later command reports it. */
export async function plansNova(run: string): Promise<boolean> {
  const plan = parsedJson(await readFile(join(run, PLAN, MANIFEST), "utf8").catch(() => ""));
  return !isObject(plan) || plan.nova !== null || plan.kind === "hosts";
}

function isPrivate(run: string): boolean {
  const found = statSync(run, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o077) === 0;
}

/** Options of a file in our own format. Null if it was edited. */
function asWritten(text: string): Saved | null {
  if (!text.startsWith(HEAD) || !text.endsWith("\n")) return null;
  const options = new Map<string, Connection>();
  const [locations = "", decisions = ""] = text.slice(HEAD.length).split(SECTION);
  const lines = [locations, decisions.replaceAll(/^ {2}/gm, "")].join("").split("\n").slice(0, -1);
  for (const line of lines) {
    const [, key = "", value = ""] = /^([a-z_]+): (.+)$/.exec(line) ?? [];
    const option = key.replaceAll("_", "-");
    const isSavedOption = OPTIONS.connections.includes(option) || OPTIONS.decisions.has(option);
    const parsed: unknown = parsedJson(value);
    if (!isSavedOption || options.has(option) || !isConnection(parsed)) return null;
    options.set(option, parsed);
  }
  return options;
}

function isConnection(value: unknown): value is Connection {
  if (typeof value === "number" || typeof value === "boolean") return true;
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return (
    texts.length > 0 &&
    texts.every((one) => typeof one === "string" && one !== "" && withoutSecret(one) === one)
  );
}
