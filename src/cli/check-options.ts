import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/nearest.ts";
import { CONNECTIONS, kebab } from "../run/next.ts";
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
import { everyCommand } from "./options/every.ts";

/** Before yargs reports the correct option as missing. @throws MigrationError N2I-E100 */
export function checkNames(declared: Declared): void {
  const { options = {} } = declared;
  const all = { ...everyCommand, ...options };
  const aliases = Object.values(all).flatMap(({ alias = [] }) => alias);
  const known = [...Object.keys(all), ...aliases, "help", "h", "version"];
  const { words } = io();
  const end = words.indexOf("--");
  for (const word of end < 0 ? words : words.slice(0, end)) {
    const [, dashes = "", said = ""] = /^(--?)([a-z][\w-]*)/i.exec(word) ?? [];
    // yargs accepts camel case, and several aliases after one dash.
    const names = dashes === "-" ? [...said] : [kebab(said)];
    if (said === "" || names.every((name) => known.includes(name))) continue;
    const near = dashes === "-" ? spaced(said, known) : nearest(kebab(said), known).map(long);
    const own = nameOf(declared);
    throw new MigrationError("N2I-E100", `${own} has no option ${dashes}${said}`, {
      fix: `${didYouMean(near)}Run ${own} with --help to list all options.`,
    });
  }
}

function long(name: string): string {
  return `--${name}`;
}

/** Suggests `-f json` for `-fjson`, which yargs reads as five options. */
function spaced(letters: string, known: readonly string[]): readonly string[] {
  if (known.includes(letters)) return [long(letters)];
  const [first = "", ...rest] = letters;
  return rest.length > 0 && known.includes(first) ? [`-${first} ${rest.join("")}`] : [];
}

/** Loads the views only if the command line names columns. @throws MigrationError N2I-E100 */
export async function checkColumnOptions(
  declared: Declared,
  args: { readonly [option: string]: unknown },
): Promise<void> {
  if (!["match", "column", "sortColumn"].some((name) => Array.isArray(args[name]))) return;
  const { checkColumns } = await import("./views/columns.ts");
  checkColumns(nameOf(declared), args);
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
  throw new MigrationError("N2I-E100", text, { fix });
}

/** `a, b and c`. */
function listOf(names: readonly string[], joint: "and" | "or"): string {
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(` ${joint} `);
}

/** The first error, the options that it names, and the default fix. */
function faultOf(
  declared: Declared,
  args: { readonly [name: string]: unknown },
): readonly [text: string, names: readonly string[], fix: string] | null {
  const { exclude = [], oneOf = [], want = [], differ = [] } = declared;
  const all: OptionTable = { ...everyCommand, ...declared.options };
  const own = nameOf(declared);
  const help = `Help: ${own} --help`;
  const hasValue = (name: string): boolean => isSpecified(args, name);
  const shown = (name: string): string =>
    declared.positional?.some(([one]) => one === name) === true
      ? `<${name}>`
      : long(name.replace("=", " "));
  const missing = Object.keys(all).filter(
    (name) => all[name]?.demandOption === true && args[name] === undefined,
  );
  const empty = missing.find((name) => io().words.includes(long(name)));
  if (empty !== undefined)
    return [`${long(empty)} needs a value`, [empty], `Add the value. ${help}`];
  if (missing.length > 0) {
    const names = listOf(missing.map(long), "and");
    const kept = missing.filter((name) => name === "run" || CONNECTIONS.includes(name)).map(long);
    const or = kept.length > 0 ? `, or set ${listOf(kept, "and")} in nova2ironic.yaml` : "";
    return [`${own} needs ${names}`, missing, `Run ${own} with ${names}${or}. ${help}`];
  }
  for (const rule of exclude) {
    const given = conflict(rule, hasValue);
    if (given.length === 0) continue;
    const text = `${listOf(given.map(shown), "and")} are mutually exclusive`;
    const which = given.length > 2 ? "all but one" : "one";
    return [text, given, `Remove ${which} of them. ${help}`];
  }
  for (const [names] of oneOf.map(sidesOf)) {
    const either = listOf(names.map(shown), "or");
    if (!names.some(hasValue)) return [`${own} needs ${either}`, names, `Add ${either}. ${help}`];
  }
  for (const [names, others] of want.map(sidesOf)) {
    const given = others.some(hasValue) ? undefined : names.find(hasValue);
    if (given === undefined) continue;
    const either = listOf(others.map(shown), "or");
    const fix = `Add ${either}, or remove ${shown(given)}. ${help}`;
    return [`${shown(given)} needs ${either}`, [given], fix];
  }
  const [one, other] = differ.map((name) => String(args[name] ?? "").split(","));
  const both = one?.find((value) => value !== "" && other?.includes(value));
  if (both !== undefined)
    return [
      `${differ.map(shown).join(" and ")} are both ${both}`,
      differ,
      `Change one of them. ${help}`,
    ];
  for (const [name, is] of Object.entries(all)) {
    // yargs reads an empty value as 0.
    const values = is.type === "number" && isBlank(name) ? [Number.NaN] : [args[name] ?? []].flat();
    for (const value of values) {
      const wanted = outOfLimits(is, value);
      const not = is.form === undefined ? "" : `, not ${JSON.stringify(value)}`;
      if (wanted !== null)
        return [`--${name} takes ${wanted}${not}`, [name], `Correct the value. ${help}`];
    }
  }
  return null;
}

/** Whether the value is empty, for example `--watch "$UNSET"`. */
function isBlank(name: string): boolean {
  const { words } = io();
  return words.some((word, at) => {
    const [, said = "", value = words[at + 1]] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
    return kebab(said) === name && value?.trim() === "";
  });
}
