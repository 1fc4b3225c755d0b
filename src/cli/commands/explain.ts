import type { CommandModule } from "yargs";
import { io } from "../io.ts";
import { CODE_COLUMNS, codeRows, explain } from "../print/explain.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { printRows } from "../print/table.ts";
import { print } from "./shared.ts";

interface Args extends FormatOptions {
  readonly code?: string;
}

export const explainCommand: CommandModule<object, Args> = {
  command: "explain [code]",
  describe: "Say what a code means and what to do; without one, list them all",
  builder: (yargs) =>
    yargs
      .positional("code", { type: "string", describe: "N2I-E304, N2I-D201" })
      .options(formatOptions)
      .example("$0 explain N2I-E304", "") as never,
  async handler(args) {
    if (args.code === undefined) await printRows(io().stdout, CODE_COLUMNS, codeRows(), args);
    else print(explain(args.code));
  },
};
