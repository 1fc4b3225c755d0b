import type { Argv, Options } from "yargs";

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  readonly builder: (yargs: Argv) => Argv;
}

/** Titles of help: what is a command's own comes first, under yargs' own `Options:`. */
export type Group = "Nova:" | "Ironic:" | "Output:" | "Every command:";

/** Options that help lists under one title. */
export function grouped<T extends { readonly [name: string]: Options }>(group: Group, options: T) {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group }]),
  ) as { readonly [name in keyof T]: T[name] & { readonly group: Group } };
}
