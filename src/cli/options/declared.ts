import type { Argv } from "yargs";

/** A command as help and completion know it: nothing here loads what the command does. */
export interface Declared {
  readonly command: string;
  readonly describe: string;
  readonly builder: (yargs: Argv) => Argv;
}
