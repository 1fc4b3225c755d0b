import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/match.ts";
import { kebab, OPTIONS } from "../run/next.ts";
import { isSpecified } from "./connections.ts";
import { io } from "./io.ts";
import {
  conflict,
  type Declared,
  nameOf,
  type OptionTable,
  outOfLimits,
  sidesOf,
} from "./options/declared.ts";
import { everyCommand } from "./options/shared.ts";

/** Runs before yargs would report the correct option as missing. @throws MigrationError N2I-E100 */
export function checkNames(declared: Declared): void {
  const { options = {} } = declared;
  const all = { ...everyCommand, ...options };
  const aliases = Object.values(all).flatMap(({ alias = [] }) => alias);
  const valid = [...Object.keys(all), ...aliases, "help", "h", "version"];
  const { argv } = io();
  const end = argv.indexOf("--");
  for (const arg of end < 0 ? argv : argv.slice(0, end)) {
    const [, dashes = "", option = ""] = /^(--?)([a-z][\w-]*)/i.exec(arg) ?? [];
    // yargs accepts camel case, and several aliases after one dash.
    const names = dashes === "-" ? [...option] : [kebab(option)];
    if (option === "" || names.every((name) => valid.includes(name))) continue;
    const near = dashes === "-" ? spaced(option, valid) : nearest(kebab(option), valid).map(long);
    const command = nameOf(declared);
    throw new MigrationError("N2I-E100", `${command} has no option ${dashes}${option}`, {
      fix: `${didYouMean(near)}Run ${command} with --help to list all options.`,
    });
  }
}

/** @param what the command: `host move` @throws MigrationError N2I-E100 */
export function refuseOptions(what: string, names: readonly string[]): void {
  for (const arg of io().argv) {
    const [, option = ""] = /^--([\w-]+)/.exec(arg) ?? [];
    if (names.includes(kebab(option)))
      throw new MigrationError("N2I-E100", `${what} has no option --${option}`);
  }
}

function long(name: string): string {
  return `--${name}`;
}

/** Suggests `-f json` for `-fjson`, which yargs reads as five options. */
function spaced(letters: string, allowed: readonly string[]): readonly string[] {
  if (allowed.includes(letters)) return [long(letters)];
  const [first = "", ...rest] = letters;
  return rest.length > 0 && allowed.includes(first) ? [`-${first} ${rest.join("")}`] : [];
}

/** Includes the options of connection files. @throws MigrationError N2I-E100 */
export function checkCombination(
  declared: Declared,
  args: { readonly [name: string]: unknown },
): void {
  const fault = faultOf(declared, args);
  if (fault === null) return;
  const [text, names, usual] = fault;
  const [fix = usual] = names.flatMap((name) => declared.fixes?.[name] ?? []);
  throw new MigrationError("N2I-E100", text, fix === undefined ? {} : { fix });
}

/** `a, b and c`. */
function listOf(names: readonly string[], joint: "and" | "or"): string {
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(` ${joint} `);
}

/** The first error, the options that it names, and the default fix. */
function faultOf(
  declared: Declared,
  args: { readonly [name: string]: unknown },
): readonly [text: string, names: readonly string[], fix?: string] | null {
  const { exclude = [], oneOf = [], implies = [], differ = [] } = declared;
  const all: OptionTable = { ...everyCommand, ...declared.options };
  const command = nameOf(declared);
  const help = `Help: ${command} --help`;
  const hasValue = (name: string): boolean => isSpecified(args, name);
  const optionText = (name: string): string =>
    declared.positional?.some(([one]) => one === name) === true
      ? `<${name}>`
      : long(name.replace("=", " "));
  const missing = Object.keys(all).filter(
    (name) => all[name]?.demandOption === true && args[name] === undefined,
  );
  const empty = missing.find((name) => io().argv.includes(long(name)));
  if (empty !== undefined)
    return [`${long(empty)} needs a value`, [empty], `Add the value. ${help}`];
  if (missing.length > 0) {
    const names = listOf(missing.map(long), "and");
    const inFile = missing
      .filter((name) => name === "run" || OPTIONS.connections.includes(name))
      .map(long);
    const or = inFile.length > 0 ? `, or set ${listOf(inFile, "and")} in nova2ironic.yaml` : "";
    return [`${command} needs ${names}`, missing, `Run ${command} with ${names}${or}. ${help}`];
  }
  for (const rule of exclude) {
    const conflicting = conflict(rule, hasValue);
    if (conflicting.length === 0) continue;
    const text = `${listOf(conflicting.map(optionText), "and")} are mutually exclusive`;
    const which = conflicting.length > 2 ? "all but one" : "one";
    return [text, conflicting, `Remove ${which} of them. ${help}`];
  }
  for (const [names] of oneOf.map(sidesOf)) {
    const either = listOf(names.map(optionText), "or");
    if (!names.some(hasValue))
      return [`${command} needs ${either}`, names, `Add ${either}. ${help}`];
  }
  for (const [names, alternatives] of implies.map(sidesOf)) {
    const dependent = alternatives.some(hasValue) ? undefined : names.find(hasValue);
    if (dependent === undefined) continue;
    const either = listOf(alternatives.map(optionText), "or");
    const fix = `Add ${either}, or remove ${optionText(dependent)}. ${help}`;
    return [`${optionText(dependent)} needs ${either}`, [dependent], fix];
  }
  const [one, other] = differ.map((name) => String(args[name] ?? "").split(","));
  const both = one?.find((value) => value !== "" && other?.includes(value));
  if (both !== undefined)
    return [
      `${differ.map(optionText).join(" and ")} are both ${both}`,
      differ,
      `Change one of them. ${help}`,
    ];
  for (const [name, is] of Object.entries(all)) {
    if (Array.isArray(args[name]) && is.array !== true)
      return [`--${name} is specified more than once`, [name]];
    // yargs reads an empty value as 0.
    const values = is.type === "number" && isBlank(name) ? [Number.NaN] : [args[name] ?? []].flat();
    for (const value of values) {
      const requirement = outOfLimits(is, value);
      const not = is.form === undefined ? "" : `, not ${JSON.stringify(value)}`;
      if (requirement !== null)
        return [`--${name} takes ${requirement}${not}`, [name], `Correct the value. ${help}`];
    }
  }
  return null;
}

/** Whether the value is empty, for example `--watch "$UNSET"`. */
function isBlank(name: string): boolean {
  const { argv } = io();
  return argv.some((arg, at) => {
    const [, option = "", value = argv[at + 1]] = /^--([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    return kebab(option) === name && value?.trim() === "";
  });
}
