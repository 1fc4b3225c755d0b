import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  absolute,
  camel,
  isUnusedDecision,
  OPTIONS,
  otherLocation,
  PLANNED_FOR,
  savedName,
} from "../run/next.ts";
import { type Connection, processContext } from "../run/process-context.ts";
import { type Io, io } from "./io.ts";
import { conflict, type Declared, nameOf, type OptionTable, sidesOf } from "./options/declared.ts";
import { printNotice } from "./print/events.ts";

const NAME = "nova2ironic.yaml";
const VARIABLE = "NOVA2IRONIC_CONFIG";

const CLOUD: readonly string[] = OPTIONS.target.filter((option) => option !== "ironic-db");

/** Commands that use Nova's databases or a cloud login for another purpose. */
const NOTHING_FOR: readonly string[] = ["config", "status"];

type Args = { [name: string]: unknown };
type Options = ReadonlyMap<string, Connection>;

/**
 * Adds options of nova2ironic.yaml and the run's connections.yaml that the command line lacks.
 *
 * @param usual options that have their default value
 */
export async function addConnections(
  args: Args,
  declared: Declared,
  usual: object = {},
): Promise<void> {
  const command = nameOf(declared);
  const options = Object.keys(declared.options ?? {});
  if (!options.some((name) => name === "run" || OPTIONS.connections.includes(name))) return;
  const path = fileOf(args);
  const isSilent = (option: string) => args[option] === undefined || option in usual;
  const specified = OPTIONS.locations.filter((name) => isSpecified(args, name));
  const isExplicit = specified.length > 0;
  if (path !== null) {
    const { readConnections } = await import("../run/connections.ts");
    const connections = readConnections(path);
    for (const [option, value] of connections) processContext().connections.set(option, value);
    const isFilled = fileOptions(args, command, connections);
    const isNova = await withoutNova(args, command, args.run ?? connections.get("run"));
    const isVerify = command === "verify" && args.takeover !== true;
    if (isVerify && connections.has("nova-db") && isNova("nova-db"))
      printNotice("The plan was made without Nova, so verify does not compare Nova.");
    // Only the command line can select nova-baremetal for these.
    const isOfHosts = /^host (?!list|schema|agent)/.test(command);
    const isKind = (option: string) => isOfHosts && option === "nova-bm-db";
    const fills = (option: string) =>
      isSilent(option) && isFilled(option) && !isNova(option) && !isKind(option);
    fill(args, path, isExplicit, fillable(args, declared, connections, fills));
  }
  const run = savedAt(args);
  if (run === null) return;
  const { readSaved, savedFile } = await import("../run/saved-options.ts");
  const connections = await readSaved(run);
  processContext().saved.set(run, connections);
  const isNova = await withoutNova(args, command, run);
  const isFilled = fileOptions(args, command, connections);
  // As if the command line named no Nova database, which excludes the run's other Nova options.
  const joined = fileOptions({ ...args, "nova-db": undefined }, command, connections);
  const { reason, isIgnored } = optionsOfRun(args, specified, command, connections);
  const isUsed = (option: string): boolean =>
    option !== "run" && !isNova(option) && !(isExplicit && WITNESSES.has(option));
  const fills = (option: string) =>
    isSilent(option) && isUsed(option) && (isFilled(option) || joined(option));
  const all = fillable(args, declared, connections, fills);
  const isTaken = ([option]: Filled): boolean => isFilled(option) && !isIgnored(option);
  const skipped = all.filter((one) => !isTaken(one));
  const without = skipped.length === 0 ? "" : `without ${namesOf(skipped)}, ${reason}`;
  fill(args, savedFile(run), isExplicit, all.filter(isTaken), without);
}

/** Ignored if the command line names a database or a cloud. */
const WITNESSES: ReadonlySet<string> = new Set(["conductor-log", "compute-log"]);

type Filled = readonly [option: string, value: Connection];

/**
 * @param isExplicit prints the options from the file, because the command line has others
 * @param without the options of the file that are ignored, and the reason
 */
function fill(
  args: Args,
  file: string,
  isExplicit: boolean,
  found: readonly Filled[],
  without = "",
): void {
  for (const [option, value] of found) {
    args[option] = value;
    args[camel(option)] = value;
  }
  if (args.quiet === true || (found.length === 0 && without === "")) return;
  // A saved decision is always printed.
  const listed = isExplicit
    ? found
    : found.filter(([option]) => !OPTIONS.connections.includes(option));
  const details = [namesOf(listed), without].filter((text) => text !== "").join("; ");
  const text = `Connections: ${file}${details === "" ? "" : `: ${details}`}`;
  if (reported.get(io())?.has(text)) return;
  reported.set(io(), new Set([...(reported.get(io()) ?? []), text]));
  printNotice(text);
}

function namesOf(found: readonly Filled[]): string {
  return found.flatMap(([option]) => (option === "run" ? [] : [option])).join(", ");
}

/** The values of a file that do not conflict with the command line. @param fills may be set */
function fillable(
  args: Args,
  declared: Declared,
  connections: Options,
  fills: (option: string) => boolean,
): readonly Filled[] {
  const name = nameOf(declared);
  const { exclude = [], implies = [] } = declared;
  const found = Object.entries(declared.options ?? {}).flatMap(([option, is]) => {
    const raw = connections.get(savedName(name, option));
    const value = raw === undefined ? null : asDeclared(is, raw);
    return value === null || !fills(option) ? [] : [[option, value] as const];
  });
  const hasValue = (name: string): boolean =>
    isSpecified(args, name) || found.some(([one]) => one === name);
  return found.filter(
    ([option]) =>
      !exclude.some((rule) =>
        conflict(rule, (one) => one === option || isSpecified(args, one)).includes(option),
      ) && implies.map(sidesOf).every(([of, all]) => !of.includes(option) || all.some(hasValue)),
  );
}

/** Printed texts. Each stage of `run` reads the files again. */
const reported = new WeakMap<Io, ReadonlySet<string>>();

/** Named on the command line, by the variable, or in this folder; otherwise null. */
function fileOf(args: Args): string | null {
  const { cwd, env } = io();
  const configured = typeof args.config === "string" ? args.config : env[VARIABLE];
  if (configured !== undefined) return configured === "" ? null : resolve(cwd(), configured);
  const here = resolve(cwd(), NAME);
  return existsSync(here) ? here : null;
}

function savedAt({ run }: Args): string | null {
  if (typeof run !== "string") return null;
  const folder = resolve(io().cwd(), run);
  return existsSync(join(folder, "connections.yaml")) ? folder : null;
}

export async function configuredRun(): Promise<string | null> {
  const path = fileOf({});
  if (path === null) return null;
  const { readConnections } = await import("../run/connections.ts");
  const run = readConnections(path).get("run");
  return typeof run === "string" ? run : null;
}

/** @param name of an option, or `auth=none` for one value of it */
export function isSpecified(args: Readonly<Args>, name: string): boolean {
  const [option = "", value] = name.split("=");
  const is = args[option];
  return value === undefined ? is !== undefined && is !== false : is === value;
}

function isOther(args: Args, name: string, connections: Options): boolean {
  if (!isSpecified(args, name)) return false;
  const texts = [args[name]].flat().map((value) => absolute(name, String(value)));
  return JSON.stringify(texts) !== JSON.stringify([connections.get(name) ?? []].flat().map(String));
}

/** The options a file may set. Options that belong together come from one source. */
function fileOptions(
  args: Args,
  command: string,
  connections: Options,
): (option: string) => boolean {
  // `check` reads the images of the cloud, so the cloud is not another connection to Ironic there.
  const elsewhere =
    command !== "check" &&
    [...OPTIONS.backends, "from-catalog"].some((name) => isSpecified(args, name));
  const rows = connections.has("ironic-db") && !elsewhere;
  // Options of the file are not combined with another Nova database.
  const alone =
    isSpecified(args, "leave-nova") ||
    args.takeover === true ||
    isOther(args, "nova-db", connections);
  const exclusions = [args.without ?? []].flat().map(String);
  // `--without nova-db` excludes all options of Nova.
  const without = exclusions.includes("nova-db")
    ? [...exclusions, ...OPTIONS.withNova]
    : exclusions;
  const images = OPTIONS.images.some((name) => isSpecified(args, name));
  return (option) => {
    if (option === "run") return true;
    if (without.includes(option) || (images && OPTIONS.images.includes(option))) return false;
    if (isUnusedDecision(command, option)) return false;
    // If nova.conf is given, `config` reports nothing about conductors.
    if (option === "ironic-conf" && command === "config")
      return !["nova-conf", "part", "exact-filters"].some((name) => isSpecified(args, name));
    if (NOTHING_FOR.includes(command)) return false;
    // `rehearse` uses copies of the databases, which no file names.
    if (command === "rehearse") return option === "key-file";
    if (option === "placement-db" && command === "plan") return isSpecified(args, "propose-site");
    if (option === "placement-db" && !connections.has("nova-db")) return false;
    if (OPTIONS.withNova.includes(option)) return !alone;
    if (CLOUD.includes(option)) return !elsewhere && (!rows || command === "check");
    return !(elsewhere && option === "ironic-db");
  };
}

/**
 * If the command line names another database or service, and no plan shows that it belongs to the
 * saved ones, they are not combined. Options that every command needs are always used.
 *
 * @param specified connections that the command line itself names
 */
function optionsOfRun(
  args: Args,
  specified: readonly string[],
  command: string,
  connections: Options,
): { readonly reason: string; readonly isIgnored: (option: string) => boolean } {
  if (command === "rollback") {
    // Rollback without Ironic reverts Nova's rows after Ironic was deleted.
    const [by] = specified.filter((name) => OPTIONS.nova.includes(name));
    const alone = by !== undefined && !OPTIONS.backends.some((name) => isSpecified(args, name));
    return {
      reason: `because only --${by} is specified`,
      isIgnored: (option) => alone && OPTIONS.target.includes(option),
    };
  }
  const other = PLANNED_FOR.includes(command)
    ? null
    : otherLocation(connections, (name) => isOther(args, name, connections));
  return {
    reason: `because --${other ?? "nova-db"} differs from the run`,
    isIgnored: (option) => other !== null && !OPTIONS.inherited.includes(option),
  };
}

/** A plan without Nova is applied and verified without Nova. */
async function withoutNova(args: Args, command: string, run: unknown) {
  const isRequested =
    !["apply", "verify"].includes(command) || OPTIONS.nova.some((name) => isSpecified(args, name));
  if (isRequested || typeof run !== "string") return () => false;
  const { plansNova } = await import("../run/saved-options.ts");
  const without = !(await plansNova(resolve(io().cwd(), run)));
  return (option: string) => without && OPTIONS.nova.includes(option);
}

/** One value or several, as the option needs; null for several if it accepts one. */
function asDeclared({ array }: OptionTable[string], value: Connection): Connection | null {
  if (array === true) return Array.isArray(value) ? value : [String(value)];
  return Array.isArray(value) ? null : value;
}
