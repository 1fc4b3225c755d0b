import type { Argv } from "yargs";

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  readonly command: string;
  /** False: help does not list it. */
  readonly describe: string | false;
  readonly builder: (yargs: Argv) => Argv;
}
