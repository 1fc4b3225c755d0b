import type { Argv, Options } from "yargs";

/** Of a number: the smallest and the largest that it may be, or the one that it is above. Of a word: its form. */
interface Limits {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly whole?: boolean;
  /** The form in words: `KEY=VALUE`. */
  readonly form?: readonly [pattern: RegExp, text: string];
}

type Option = Options & Limits;

/** Options by name, in the order help lists them. */
export type OptionTable = { readonly [name: string]: Option };

type Positional = readonly [name: string, is: Options & { readonly type: "string" }];

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  /** Its words and its arguments: `host readmit <compute>`. */
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  /** Words that stand without an option, by their names in `command`. */
  readonly positional?: readonly Positional[];
  readonly options?: OptionTable;
  /** `a b c`: a command line has one of them at most. `a: b c`: none of the others with the first. `a=x` is one value. */
  readonly exclude?: readonly string[];
  /** `a b`: a command line has one of them at least. */
  readonly oneOf?: readonly string[];
  /** `a b: c d`: each of the first needs one of the others. */
  readonly want?: readonly string[];
  /** Two options that name no value in common. */
  readonly differ?: readonly [option: string, other: string];
  /** The fix of a refusal that names the option. */
  readonly fixes?: { readonly [option: string]: string };
  /** What serves others only reads the run it names: it is not written down there. */
  readonly serves?: true;
  readonly epilogue?: string;
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
  const names = [...common, "-h", "--version"].toSorted((one, other) => one.length - other.length);
  let line = "Common options:";
  // In a terminal of 80 columns they take one line.
  for (const name of names) if (line.length + name.length < 75) line += ` ${name}`;
  const end = `${line} ...\nThey are explained by: nova2ironic help common-options`;
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

/** The names before and after the colon of a rule. */
export function sidesOf(rule: string): readonly [readonly string[], readonly string[]] {
  const [first = "", second] = rule.split(": ");
  return [first.split(" "), second?.split(" ") ?? []];
}

/** The options that a rule of `exclude` does not allow together. */
export function conflict(rule: string, isGiven: (name: string) => boolean): readonly string[] {
  const sides = sidesOf(rule);
  const [first, second] = [sides[0].filter(isGiven), sides[1].filter(isGiven)];
  const isConflict = sides[1].length > 0 ? first.length * second.length > 0 : first.length > 1;
  return isConflict ? [...first, ...second] : [];
}

/** The words of a command: `host readmit`. */
export function nameOf({ command }: Pick<Declared, "command">): string {
  return command.replace(/ [<[].*$/s, "");
}

/** The form or range of an option; null if the value has it. */
export function outOfLimits(
  { type, least = 0, above, most, whole, form }: Option,
  value: unknown,
): string | null {
  if (form !== undefined) return form[0].test(String(value)) ? null : form[1];
  if (type !== "number") return null;
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
export function word(describe: string, more: Option = {}): Option {
  return { type: "string", requiresArg: true, describe, ...more };
}

/** One that may be repeated, with a word each time. */
export function words(describe: string, more: Option = {}): Option {
  return { type: "string", array: true, nargs: 1, describe, ...more };
}

/** `[HOST=]PATH`, with neither part empty. */
export function perHost(path: "DIR" | "FILE", describe: string): Option {
  const form = [/^(?![^=/]*=$)(?!\s*=).+$/s, `${path} or HOST=${path}`] as const;
  return words(`[HOST=]${path}: ${describe}`, { form });
}

/** A word that stands without an option. */
export function argument(name: string, describe: string, more: Options = {}): Positional {
  return [name, { ...more, type: "string", describe }];
}

export function flag(describe: string, more: Options = {}): Options {
  return { type: "boolean", default: false, describe, ...more };
}

export function number(describe: string, more: Option = {}): Option {
  return { type: "number", requiresArg: true, describe, ...more };
}

/** Titles of help: what is a command's own comes first, under yargs' own `Options:`. */
type Group = "Stages:" | "Nova:" | "Ironic:" | "OpenStack:" | "Output:" | "Every command:";

/** Options that help lists under one title. */
export function grouped<T extends OptionTable>(group: Group, options: T) {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group }]),
  ) as { readonly [name in keyof T]: T[name] & { readonly group: Group } };
}
