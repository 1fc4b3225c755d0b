import type { FormatOptions } from "../../lib/table/format.ts";
import type { Voice } from "../commands/shared.ts";
import { argument, type Declared, flag } from "./declared.ts";
import { listOptions } from "./format.ts";
import { ALL_ROWS, common } from "./shared.ts";

export interface ShowArgs extends Voice, FormatOptions {
  readonly file: string;
  readonly diff?: string;
  readonly allRows: boolean;
  readonly nova: boolean;
  readonly skipped: boolean;
}

export const showOptions: Declared = {
  command: "show <file>",
  describe: "Print a file of a run, row by row: plan, snapshot, readings, journal, log; or a diff",
  positional: [
    argument(
      "file",
      "A plan's folder or a file in it; snapshot, power, journal, log or window of a run",
      { demandOption: true },
    ),
  ],
  options: {
    ...listOptions,
    ...common("diff"),
    "all-rows": { ...listOptions["all-rows"], describe: ALL_ROWS },
    skipped: flag("Of a plan: only the machines that apply does not load, with the reason"),
    nova: flag("Of a plan: its rows of Nova and what was found of them"),
  },
  exclude: ["skipped: nova diff match"],
  examples: [
    "$0 show m1/plan -f csv -c UUID -c Verdict",
    "$0 show m1/plan --diff 7f0c1a52-3b6a-4b7a-9f2e-2b1d1f7f0001",
  ],
};
