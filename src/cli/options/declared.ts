import type { Argv, Options } from "yargs";

/** With the range of a number, or the form of a string. */
type Option = Options & {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly integer?: boolean;
  /** A pattern and its description: `KEY=VALUE`. */
  readonly form?: readonly [pattern: RegExp, text: string];
};

export type OptionTable = { readonly [name: string]: Option };

type Positional = readonly [name: string, is: Options & { readonly type: "string" }];

/** A command for help and completion, without its implementation. */
export interface Declared {
  /** Its name and arguments: `host readmit <compute>`. */
  readonly command: string;
  /** False: hidden in help. */
  readonly describe: string | false;
  readonly positional?: readonly Positional[];
  readonly options?: OptionTable;
  /** `a b c`: at most one. `a: b c`: neither b nor c together with a. `a=x` is one value. */
  readonly exclude?: readonly string[];
  /** `a b`: at least one. */
  readonly oneOf?: readonly string[];
  /** `a b: c d`: a and b each need c or d. */
  readonly implies?: readonly string[];
  /** Two options that have no value in common. */
  readonly differ?: readonly [option: string, other: string];
  /** The fix for an error about the option. */
  readonly fixes?: { readonly [option: string]: string };
  /** A service, which only reads its run and does not log there. */
  readonly serves?: true;
  readonly epilogue?: string;
  readonly examples?: readonly string[];
}

/** Groups of common options. Help lists only their names; a page of the manual explains them. */
const COMMON: readonly string[] = [
  "OpenStack:",
  "Output:",
  "Every command:",
] satisfies readonly Group[];

/**
 * @param every the options of every command
 * @param hide false for completion, which also offers common options
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
  // One line on a terminal of 80 columns.
  for (const name of names) if (line.length + name.length < 75) line += ` ${name}`;
  const end = `${line} ...\nFor a description, run: nova2ironic help common-options`;
  return program.epilogue(epilogue === undefined ? end : `${epilogue}\n\n${end}`);
}

export function hidden(options: OptionTable): OptionTable {
  return Object.fromEntries(
    Object.entries(options).map(([name, is]) => [name, { ...is, hidden: isCommon(is) }]),
  );
}

export function isCommon({ group = "" }: Options): boolean {
  return COMMON.includes(group);
}

export function sidesOf(rule: string): readonly [readonly string[], readonly string[]] {
  const [first = "", second] = rule.split(": ");
  return [first.split(" "), second?.split(" ") ?? []];
}

/** The options that violate a rule of `exclude`. */
export function conflict(rule: string, hasValue: (name: string) => boolean): readonly string[] {
  const sides = sidesOf(rule);
  const [first, second] = [sides[0].filter(hasValue), sides[1].filter(hasValue)];
  const isConflict = sides[1].length > 0 ? first.length * second.length > 0 : first.length > 1;
  return isConflict ? [...first, ...second] : [];
}

/** The name of a command without arguments: `host readmit`. */
export function nameOf({ command }: Pick<Declared, "command">): string {
  return command.replace(/ [<[].*$/s, "");
}

/** The form or range that the value violates, or null. */
export function outOfLimits(
  { type, least = 0, above, most, integer, form }: Option,
  value: unknown,
): string | null {
  if (form !== undefined) return form[0].test(String(value)) ? null : form[1];
  if (type !== "number") return null;
  const is = Number(value);
  // Timers do not support larger values.
  if (is >= 1e9 && most === undefined) return "a number below 1000000000";
  const isInRange = is >= least && is <= (most ?? is) && (above === undefined || is > above);
  if (isInRange && (integer !== true || Number.isInteger(is))) return null;
  const kind = integer === true ? "a whole number" : "a number";
  if (above !== undefined) return `${kind} above ${above}`;
  return most === undefined ? `${kind}, ${least} or more` : `${kind} from ${least} to ${most}`;
}

/** An option with a value. */
export function string(describe: string, more: Option = {}): Option {
  return { type: "string", requiresArg: true, describe, ...more };
}

/** An empty name of a program, as of an unset variable, must not mean none. */
export function program(describe: string): Option {
  return string(describe, { form: [/\S/, "the name of a program"] });
}

/** An option that may be repeated, with a value each time. */
export function list(describe: string, more: Option = {}): Option {
  return { type: "string", array: true, nargs: 1, describe, ...more };
}

/** `[HOST=]PATH`, with both parts not empty. */
export function perHost(path: "DIR" | "FILE", describe: string): Option {
  const form = [/^(?![^=/]*=$)(?!\s*=).+$/s, `${path} or HOST=${path}`] as const;
  return list(`[HOST=]${path}: ${describe}`, { form });
}

/** A positional argument. */
export function argument(name: string, describe: string, more: Options = {}): Positional {
  return [name, { ...more, type: "string", describe }];
}

export function flag(describe: string, more: Options = {}): Options {
  return { type: "boolean", default: false, describe, ...more };
}

export function number(describe: string, more: Option = {}): Option {
  return { type: "number", requiresArg: true, describe, ...more };
}

/** Groups in help, after the command's own options (`Options:`). */
type Group = "Stages:" | "Nova:" | "Ironic:" | "OpenStack:" | "Output:" | "Every command:";

/** Assigns options to a group. */
export function grouped<T extends OptionTable>(group: Group, options: T) {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group }]),
  ) as { readonly [name in keyof T]: T[name] & { readonly group: Group } };
}
