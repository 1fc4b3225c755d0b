import type { Argv, Options } from "yargs";

/** Options by name, in the order help lists them. */
export type OptionTable = { readonly [name: string]: Options };

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  /** A word that stands without an option, by its name in `command`. */
  readonly positional?: readonly [name: string, is: Options & { readonly type: "string" }];
  readonly options?: OptionTable;
  readonly epilogue?: string;
  /** Command lines. */
  readonly examples?: readonly string[];
}

/** The program with what a command declares. */
export function declare(program: Argv, command: Declared): Argv {
  const { positional, options = {}, epilogue, examples = [] } = command;
  if (positional !== undefined) program.positional(...positional);
  program.options(options);
  if (epilogue !== undefined) program.epilogue(epilogue);
  for (const example of examples) program.example(example, "");
  return program;
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

export function number(describe: string, more: Options = {}): Options {
  return { type: "number", describe, ...more };
}

/** Titles of help: what is a command's own comes first, under yargs' own `Options:`. */
type Group = "Stages:" | "Nova:" | "Ironic:" | "Output:" | "Every command:";

/** Options that help lists under one title. */
export function grouped<T extends OptionTable>(group: Group, options: T) {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group }]),
  ) as { readonly [name in keyof T]: T[name] & { readonly group: Group } };
}
