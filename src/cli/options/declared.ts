import type { Argv, Options } from "yargs";

/** Options by name, in the order help lists them. */
export type OptionTable = { readonly [name: string]: Options };

export type Positional = readonly [name: string, is: Options & { readonly type: "string" }];

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  /** Words that stand without an option, by their names in `command`. */
  readonly positional?: readonly Positional[];
  readonly options?: OptionTable;
  /** What serves others only reads the run it names: it is not written down there. */
  readonly serves?: true;
  readonly epilogue?: string;
  /** Command lines. */
  readonly examples?: readonly string[];
}

/** The program with what a command declares. */
export function declare(program: Argv, command: Declared): Argv {
  const { positional = [], options = {}, epilogue, examples = [] } = command;
  for (const one of positional) program.positional(...one);
  program.options(options);
  if (epilogue !== undefined) program.epilogue(epilogue);
  for (const example of examples) program.example(example, "");
  return program;
}

/** What the first word of a command may be, by that word. */
interface Actions {
  readonly [action: string]: { readonly describe: string; readonly options: OptionTable };
}

/** The options of every action, each once. Which of them want a run the command says. */
export function optionsOf(actions: Actions): OptionTable {
  const all: OptionTable = Object.assign({}, ...Object.values(actions).map((one) => one.options));
  const { run = {} } = all;
  return { ...all, run: { ...run, demandOption: false } };
}

/** A line of help for each action. */
export function epilogueOf(actions: Actions): string {
  return Object.entries(actions)
    .map(([action, { describe }]) => `${action}: ${describe}.`)
    .join("\n");
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
