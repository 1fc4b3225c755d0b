import { argument, type Declared, flag, string } from "./declared.ts";
import { ALL_ROWS, common, formatOptions, listOptions, meaning } from "./shared.ts";

export const INSPECTION = {
  status: {
    command: "status",
    describe:
      "Show the state of a run and its next command. Reads a database only if you specify it",
    options: {
      ...common("run"),
      ...meaning("nova-db", "With --placement-db: Nova's database"),
      "placement-db": string("With --nova-db: Placement's database, to find missing allocations"),
      ...formatOptions,
    },
    implies: ["placement-db: nova-db"],
    examples: ["$0 status --run m1"],
  },
  next: {
    command: "next",
    describe: "Show the next step of a run, its reason, its duration and its undo command",
    options: { ...common("run"), ...formatOptions },
    examples: ["$0 next --run m1"],
  },
  window: {
    command: "window <action>",
    describe: "Open or close the maintenance window of a run, or show its record",
    positional: [argument("action", "open, close or show", { choices: ["open", "close", "show"] })],
    options: { ...common("run"), ...listOptions },
    examples: ["$0 window open --run m1", "$0 window show --run m1 -f csv"],
  },
  support: {
    command: "support",
    describe: "Pack a run's artefacts, journal and log for a bug report, without secrets",
    options: {
      ...common("run"),
      to: string("Output file (default: NAME-support.tar.gz in this folder)"),
    },
    examples: ["$0 support --run m1"],
  },
  show: {
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
  },
  explain: {
    command: "explain [code..]",
    describe: "Explain codes, or print pages of the manual. Without an argument, list all codes",
    positional: [argument("code", "a code (N2I-E304, or e304) or a topic (runbook)")],
    options: listOptions,
    examples: ["$0 explain N2I-E304", "$0 explain d600 d602"],
  },
  demo: {
    command: "demo",
    describe:
      "Run the whole migration of a sample deployment, on SQLite files in a temporary folder",
    options: { keep: string("A new or empty folder for the files of the demo and its report") },
    examples: ["$0 demo --keep sample"],
  },
  completion: {
    command: "completion",
    describe: "Print a script that completes commands, options and their values in bash or zsh",
    epilogue:
      "To install the completion, run the line for your shell once, then start a new shell. The script is for zsh if SHELL is set to zsh, and otherwise for bash.",
    examples: ["SHELL=bash $0 completion >> ~/.bashrc", "SHELL=zsh $0 completion >> ~/.zshrc"],
  },
} satisfies { readonly [command: string]: Declared };
