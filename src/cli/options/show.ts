import { argument, type Declared, flag } from "./declared.ts";
import { listOptions } from "./format.ts";
import { ALL_ROWS, common } from "./shared.ts";

export const showOptions: Declared = {
  command: "show <file>",
  describe: "Print a file of a run row by row: plan, snapshot, readings, journal or log",
  positional: [
    argument(
      "file",
      "folder of a plan, a file in it, or the snapshot, power, journal, log or window of a run",
      { demandOption: true },
    ),
  ],
  options: {
    ...listOptions,
    ...common("diff"),
    "all-rows": { ...listOptions["all-rows"], describe: ALL_ROWS },
    skipped: flag("For a plan: only machines that apply does not load, with the reason"),
    nova: flag("For a plan: Nova's rows and their findings"),
  },
  exclude: ["skipped: nova diff match"],
  examples: [
    "$0 show m1/plan -f csv -c UUID -c Verdict",
    "$0 show m1/plan --diff 7f0c1a52-3b6a-4b7a-9f2e-2b1d1f7f0001",
  ],
};
