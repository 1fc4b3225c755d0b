import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../lib/error.ts";
import { writeWhole } from "../lib/files/temp-file.ts";
import { isObject, type Json, parsedJson } from "../lib/json.ts";
import { readJournal } from "./files/journal.ts";
import { MANIFEST, PLAN } from "./files/plan-folder.ts";
import { type RunFolder, readNote, writeNote } from "./files/run-folder.ts";
import { readDocument } from "./files/yaml-file.ts";
import {
  ALL_DECISIONS,
  BACKENDS,
  BESIDE,
  CALLED,
  CONNECTIONS,
  camel,
  DECISIONS,
  FOR_ALL,
  FOR_STAGES,
  IMAGES,
  type NextCommand,
  otherPlace,
  PLACES,
  PLANNED_FOR,
  TARGET,
  withoutSecret,
} from "./next.ts";
import { absolute } from "./paths.ts";
import { type Connection, surroundings } from "./process-context.ts";

/** Options of a run by their names. */
type Saved = ReadonlyMap<string, Connection>;

const FILE = "connections.yaml";
const FORMAT = "nova2ironic/connections@1";
const HEAD = `# Options of earlier commands of this run. The command line overrides them. Edit this file as nova2ironic.yaml.\nformat: ${FORMAT}\n`;
const SECTION = "decisions:\n";
/** The options that the run's plan was made with. */
const PLANNED = "planned.json";
const OF_PLAN: readonly string[] = [...FOR_STAGES.plan, "compute-host"];

/** Values that need not be saved. */
const USUAL: ReadonlyMap<string, Connection> = new Map([
  ...([
    ["rate", 400],
    ["in-flight", 256],
    ["deadline", 60],
    ["max-unreachable", 0],
  ] as const),
]);

export function savedFile(run: string): string {
  return join(run, FILE);
}

/**
 * What a run has saved of the options of its commands; empty if it has saved none, or if the folder is not this
 * user's alone, which opening it refuses by itself.
 *
 * @param run absolute
 * @throws MigrationError N2I-E101, N2I-E108 for a file that a person edited wrongly
 */
export async function readSaved(run: string): Promise<Saved> {
  const file = savedFile(run);
  if (!isOurs(run) || !existsSync(file)) return new Map();
  const options = quickly(file);
  if (options !== null) return options;
  // Loaded for a file that a person edited: the schema and its checker take longer than most commands.
  const { readConnections } = await import("./connections.ts");
  return readConnections(file);
}

/** Writes it whole, and makes it known to the lines that name a next command. @throws MigrationError N2I-E120 */
async function writeSaved({ path }: RunFolder, options: Saved): Promise<void> {
  const line = ([option, value]: readonly [string, Connection]): string =>
    `${option.replaceAll("-", "_")}: ${JSON.stringify(value)}\n`;
  const all = [...options];
  const decisions = all.filter(([option]) => ALL_DECISIONS.has(option));
  const places = all.filter(([option]) => !ALL_DECISIONS.has(option));
  const section = decisions.length === 0 ? "" : SECTION;
  const lines = [...places.map(line), section, ...decisions.map((one) => `  ${line(one)}`)];
  await writeWhole(path, FILE, `${HEAD}${lines.join("")}`);
  surroundings().saved.set(path, options);
}

/**
 * Saves what a command was given, for every later command of the run. Called once every database and service that
 * was named is open: options that are refused before are not saved.
 *
 * @param args by yargs's names
 * @returns puts back what was saved before
 * @throws MigrationError N2I-E120
 */
export async function saveOptions(
  run: RunFolder,
  command: NextCommand,
  args: object,
): Promise<() => Promise<void>> {
  // The databases of a rehearsal are copies: no later command goes on from here.
  if (surroundings().copies !== undefined) return async () => undefined;
  const before = await readSaved(run.path);
  const { now, dropped } = givenTo(command, args);
  const isElsewhere = !PLANNED_FOR.includes(command) && isOtherPlace(now, before);
  const isSource = (option: string): boolean =>
    command !== "extract" && ["nova-conf", "tftp-root"].includes(option);
  // A rollback of what is loaded needs Nova's databases, whatever database is read now.
  const journal = await orNull(readJournal(run));
  const isBegun = journal === null || journal.entries.length > 0;
  const isNeededBack = (option: string): boolean => isBegun && BESIDE.includes(option);
  const stays = [...before].filter(
    ([option]) =>
      (!isElsewhere || FOR_ALL.includes(option) || isSource(option) || isNeededBack(option)) &&
      !(IMAGES.includes(option) && IMAGES.some((name) => now.has(name))),
  );
  const saved = new Map(overlaid(new Map(stays), fileFor(command, now)));
  for (const option of dropped) saved.delete(option);
  await writeSaved(run, overlaid(saved, now));
  return () => writeSaved(run, before);
}

/** What nova2ironic.yaml says, which a copied line may not find; a run between hosts has its kind from its own command lines. */
function fileFor(command: NextCommand, now: Saved): Saved {
  const { connections } = surroundings();
  const isOwn = command === "host" || command === "node";
  if (isOwn || isOtherPlace(now, connections)) return new Map();
  return new Map([...connections].filter(([option]) => CONNECTIONS.includes(option)));
}

/** Ironic's location is replaced as a whole: nothing of another way to it remains. */
function overlaid(under: Saved, over: Saved): Saved {
  const hasTarget = BACKENDS.some((option) => over.has(option));
  const stays = [...under].filter(([option]) => !(hasTarget && TARGET.includes(option)));
  return new Map([...stays, ...over]);
}

/** The options of a command line that a run saves, without any secret. */
function givenTo(command: NextCommand, args: object) {
  const values = new Map<string, unknown>(Object.entries(args));
  const now = new Map<string, Connection>();
  // A plan without a database remains the run's; its decisions are those of the last command line.
  const without = [values.get("without") ?? []].flat().map(String);
  const dropped = without.filter((option) => !PLACES.includes(option));
  for (const option of new Set([...CONNECTIONS, ...(DECISIONS[command] ?? [])])) {
    const value = values.get(camel(option));
    const name = CALLED[command]?.[option] ?? option;
    if (value === false || (value !== undefined && value === USUAL.get(option))) dropped.push(name);
    else if (isConnection(value)) now.set(name, absoluteOf(name, value));
  }
  return { now, dropped };
}

function absoluteOf(option: string, value: Connection): Connection {
  if (typeof value === "string") return absolute(option, value);
  return typeof value === "object" ? value.map((one) => absolute(option, one)) : value;
}

function isOtherPlace(now: Saved, before: Saved): boolean {
  const isOther = (name: string): boolean =>
    now.has(name) && JSON.stringify(now.get(name)) !== JSON.stringify(before.get(name));
  return otherPlace(before, isOther) !== null;
}

/** Notes the options that the run's plan was made with. @throws MigrationError N2I-E120 */
export async function savePlanned(run: RunFolder, args: object): Promise<void> {
  const { now } = givenTo("plan", args);
  const planned = [...now].filter(([name]) => OF_PLAN.includes(name));
  await writeNote(run, PLANNED, Object.fromEntries(planned) as Json); // texts, numbers and lists of them
}

/**
 * Options, by name, with which a plan would be made now and with which the run's plan was not made.
 *
 * @param args of plan
 * @param isAbsent whether an option that is absent in them was left out on purpose
 */
export async function changedOptions(
  run: RunFolder,
  args: object,
  isAbsent: (name: string) => boolean,
): Promise<readonly string[]> {
  const planned = await readNote(run, PLANNED);
  if (!isObject(planned)) return [];
  const { now } = givenTo("plan", args);
  return OF_PLAN.filter(
    (name) =>
      (now.has(name) || isAbsent(name)) &&
      JSON.stringify(now.get(name)) !== JSON.stringify(planned[name]),
  );
}

/** These arguments, with what the run has saved of these options where they are silent. */
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
  const given = Object.entries(args).filter(([, value]) => value !== undefined);
  return { ...args, ...Object.fromEntries([...found, ...given]) };
}

/** Whether the run's plan changes or watches Nova; a plan that cannot be read is left to the command that needs it. */
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
function quickly(file: string): Saved | null {
  try {
    return asWritten(readDocument(file, { trusted: true }));
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return null;
  }
}

/** The options of a file as this tool writes it; null if a person wrote some of it. */
function asWritten(text: string): Saved | null {
  if (!text.startsWith(HEAD) || !text.endsWith("\n")) return null;
  const options = new Map<string, Connection>();
  const [places = "", decisions = ""] = text.slice(HEAD.length).split(SECTION);
  const lines = [places, decisions.replaceAll(/^ {2}/gm, "")].join("").split("\n").slice(0, -1);
  for (const line of lines) {
    const [, key = "", value = ""] = /^([a-z_]+): (.+)$/.exec(line) ?? [];
    const option = key.replaceAll("_", "-");
    const isKnown = CONNECTIONS.includes(option) || ALL_DECISIONS.has(option);
    const parsed: unknown = parsedJson(value);
    if (!isKnown || options.has(option) || !isConnection(parsed)) return null;
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
