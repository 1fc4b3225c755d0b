import type { Argv, Options } from "yargs";

/** Of a number: the smallest and the largest that it may be, or the one that it is above. */
interface Limits {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly whole?: boolean;
}

type Option = Options & Limits;

/** Options by name, in the order help lists them. */
export type OptionTable = { readonly [name: string]: Option };

export type Positional = readonly [name: string, is: Options & { readonly type: "string" }];

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  /** Its words and its arguments: `host readmit <compute>`. */
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  /** Words that stand without an option, by their names in `command`. */
  readonly positional?: readonly Positional[];
  readonly options?: OptionTable;
  /** Options of which a command line has at most one. */
  readonly exclude?: readonly (readonly string[])[];
  /** Options that need another one, any of these. */
  readonly want?: { readonly [option: string]: readonly string[] };
  /** What serves others only reads the run it names: it is not written down there. */
  readonly serves?: true;
  readonly epilogue?: string;
  /** Command lines. */
  readonly examples?: readonly string[];
}

/** Options that many commands have alike. Help names them, and a page of the manual explains them. */
const COMMON: readonly string[] = [
  "OpenStack:",
  "Output:",
  "Every command:",
] satisfies readonly Group[];

/**
 * The program with what a command declares.
 *
 * @param every the options of every command
 * @param hide false for completion, which offers the common options too
 */
export function declare(
  program: Argv,
  command: Declared,
  { every = {}, hide = true }: { readonly every?: OptionTable; readonly hide?: boolean } = {},
): Argv {
  const { positional = [], options = {}, epilogue, examples = [] } = command;
  for (const one of positional) program.positional(...one);
  program.options(hide ? hidden(options) : options);
  for (const example of examples) program.example(example, "");
  const common = Object.entries({ ...options, ...every }).flatMap(([name, is]) =>
    isCommon(is)
      ? [typeof is.alias === "string" && is.alias.length === 1 ? `-${is.alias}` : `--${name}`]
      : [],
  );
  const end = `Common options: ${common.join(" ")} -h --version\nThey are explained by: nova2ironic help common-options`;
  return program.epilogue(epilogue === undefined ? end : `${epilogue}\n\n${end}`);
}

/** Options as help lists them: the common ones are hidden. */
export function hidden(options: OptionTable): OptionTable {
  return Object.fromEntries(
    Object.entries(options).map(([name, is]) => [name, { ...is, hidden: isCommon(is) }]),
  );
}

export function isCommon({ group = "" }: Options): boolean {
  return COMMON.includes(group);
}

/** The words of a command: `host readmit`. */
export function nameOf({ command }: Pick<Declared, "command">): string {
  return command.replace(/ [<[].*$/s, "");
}

/** What a number has to be; null if it is. @param value a number */
export function outOfLimits(
  { least = 0, above, most, whole }: Limits,
  value: unknown,
): string | null {
  const is = Number(value);
  // Timers take no more.
  if (is >= 1e9 && most === undefined) return "a number below 1000000000";
  const fits = is >= least && is <= (most ?? is) && (above === undefined || is > above);
  if (fits && (whole !== true || Number.isInteger(is))) return null;
  const what = whole === true ? "a whole number" : "a number";
  if (above !== undefined) return `${what} above ${above}`;
  return most === undefined ? `${what}, ${least} or more` : `${what} from ${least} to ${most}`;
}

/** An option with a word of its own. */
export function word(describe: string, more: Options = {}): Options {
  return { type: "string", requiresArg: true, describe, ...more };
}

/** One that may be repeated, with a word each time. */
export function words(describe: string, more: Options = {}): Options {
  return { type: "string", array: true, nargs: 1, describe, ...more };
}

export function flag(describe: string, more: Options = {}): Options {
  return { type: "boolean", default: false, describe, ...more };
}

export function number(describe: string, more: Option = {}): Option {
  return { type: "number", describe, ...more };
}

/** Titles of help: what is a command's own comes first, under yargs' own `Options:`. */
type Group = "Stages:" | "Nova:" | "Ironic:" | "OpenStack:" | "Output:" | "Every command:";

/** Options that help lists under one title. */
export function grouped<T extends OptionTable>(group: Group, options: T) {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group }]),
  ) as { readonly [name in keyof T]: T[name] & { readonly group: Group } };
}
