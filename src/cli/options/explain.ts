import { argument, type Declared, string } from "./declared.ts";
import { listOptions } from "./format.ts";

export const explainOptions: Declared = {
  command: "explain [code..]",
  describe: "Explain codes, or print pages of the manual. Without an argument, list all codes",
  positional: [argument("code", "a code (N2I-E304, or e304) or a topic (runbook)")],
  options: listOptions,
  examples: ["$0 explain N2I-E304", "$0 explain d600 d602"],
};

export const demoOptions: Declared = {
  command: "demo",
  describe: "Run the whole migration of a sample deployment, on SQLite files in a temporary folder",
  options: { keep: string("A new or empty folder for the files of the demo and its report") },
  examples: ["$0 demo --keep sample"],
};

export const completionOptions: Declared = {
  command: "completion",
  describe: "Print a script that completes commands, options and their values in bash or zsh",
  epilogue:
    "To install the completion, run the line for your shell once, then start a new shell. The script is for zsh if SHELL is set to zsh, and otherwise for bash.",
  examples: ["SHELL=bash $0 completion >> ~/.bashrc", "SHELL=zsh $0 completion >> ~/.zshrc"],
};
