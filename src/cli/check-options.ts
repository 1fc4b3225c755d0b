import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/nearest.ts";
import { kebab } from "../run/next.ts";
import { isSaid } from "./connections.ts";
import { io } from "./io.ts";
import { type Declared, nameOf, type OptionTable, outOfLimits } from "./options/declared.ts";
import { everyCommand } from "./options/every.ts";

/**
 * Refuses a misspelled option before yargs reports the option that it stands for as missing.
 *
 * @throws MigrationError N2I-E100
 */
export function checkNames(declared: Declared): void {
  const { options = {} } = declared;
  const all = { ...everyCommand, ...options };
  const aliases = Object.values(all).flatMap(({ alias = [] }) => alias);
  const known = [...Object.keys(all), ...aliases, "help", "h", "version"];
  const { words } = io();
  const end = words.indexOf("--");
  for (const word of end < 0 ? words : words.slice(0, end)) {
    const [, dashes = "", said = ""] = /^(--?)([a-z][\w-]*)/i.exec(word) ?? [];
    // yargs takes camel case, and several aliases after one dash.
    const names = dashes === "-" ? [...said] : [kebab(said)];
    if (said === "" || names.every((name) => known.includes(name))) continue;
    const near = dashes === "-" ? spaced(said, known) : nearest(kebab(said), known).map(long);
    const own = nameOf(declared);
    throw new MigrationError("N2I-E100", `${own} has no option ${dashes}${said}`, {
      fix: `${didYouMean(near)}Run ${own} with --help for all.`,
    });
  }
}

function long(name: string): string {
  return `--${name}`;
}

/** `-f json` of `-fjson`, which yargs takes for five options. */
function spaced(letters: string, known: readonly string[]): readonly string[] {
  if (known.includes(letters)) return [long(letters)];
  const [first = "", ...rest] = letters;
  return rest.length > 0 && known.includes(first) ? [`-${first} ${rest.join("")}`] : [];
}

/** Views are loaded only for a command line that names columns. @throws MigrationError N2I-E100 */
export async function checkColumnOptions(
  declared: Declared,
  args: { readonly [option: string]: unknown },
): Promise<void> {
  if (!["match", "column", "sortColumn"].some((name) => Array.isArray(args[name]))) return;
  const { checkColumns } = await import("./views/columns.ts");
  checkColumns(nameOf(declared), args);
}

/**
 * Checks the options of the command line together with those of the files of connections.
 *
 * @throws MigrationError N2I-E100 for options that exclude each other, that need another one, or are out of range
 */
export function checkTogether(
  declared: Declared,
  args: { readonly [name: string]: unknown },
): void {
  const { exclude = [], want = {}, positional = [], options = {} } = declared;
  const isGiven = (name: string): boolean => isSaid(args, name);
  const shown = (name: string): string =>
    positional.some(([one]) => one === name) ? `<${name}>` : long(name);
  for (const names of exclude) {
    const given = names.filter(isGiven).map(shown);
    if (given.length > 1)
      throw new MigrationError("N2I-E100", `${given.join(" and ")} exclude each other`);
  }
  for (const [name, others] of Object.entries(want))
    if (isGiven(name) && !others.some(isGiven))
      throw new MigrationError(
        "N2I-E100",
        `${shown(name)} needs ${others.map(shown).join(" or ")}`,
      );
  const all: OptionTable = { ...everyCommand, ...options };
  for (const [name, is] of Object.entries(all)) {
    if (is.type !== "number" || args[name] === undefined) continue;
    // yargs reads an empty value as 0.
    const wanted = outOfLimits(is, isBlank(name) ? Number.NaN : args[name]);
    if (wanted !== null) throw new MigrationError("N2I-E100", `--${name} takes ${wanted}`);
  }
}

/** Whether the value of an option is empty: `--watch "$UNSET"`. */
function isBlank(name: string): boolean {
  const { words } = io();
  return words.some((word, at) => {
    const [, said = "", value = words[at + 1]] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
    return kebab(said) === name && value?.trim() === "";
  });
}
