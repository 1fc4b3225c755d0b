import type { FormatOptions } from "../../lib/table/format.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { common } from "./shared.ts";

export interface NextArgs extends Voice, FormatOptions {
  readonly run: string;
}

export const nextOptions: Declared = {
  command: "next",
  describe: "Say the one next step of a run, why, how long it takes and what undoes it",
  options: { ...common("run"), ...formatOptions },
  examples: ["$0 next --run m1"],
};
