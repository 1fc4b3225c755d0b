import type { FormatOptions } from "../../report/format.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";

export interface ExplainArgs extends FormatOptions {
  readonly code?: string;
}

export const explainOptions: Declared = {
  command: "explain [code]",
  describe: "Say what a code means and what to do; without one, list them all",
  positional: ["code", { type: "string", describe: "N2I-E304, N2I-D201" }],
  options: formatOptions,
  examples: ["$0 explain N2I-E304"],
};
