import type { FormatOptions } from "../../lib/table/format.ts";
import type { Declared } from "./declared.ts";
import { listOptions } from "./format.ts";

export interface ExplainArgs extends FormatOptions {
  readonly code?: readonly string[];
}

export const explainOptions: Declared = {
  command: "explain [code..]",
  describe:
    "Say what codes mean and what to do, or print pages of the manual; without a word, list all codes",
  positional: [
    ["code", { type: "string", describe: "N2I-E304, or shorter: e304 d201; or a topic: runbook" }],
  ],
  options: listOptions,
  examples: ["$0 explain N2I-E304", "$0 explain d600 d602"],
};
