import type { FormatOptions } from "../../../lib/table/format.ts";
import type { Voice } from "../../commands/shared.ts";
import type { Declared } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common } from "../shared.ts";

export interface WindowArgs extends Voice, FormatOptions {
  readonly run: string;
  readonly action: "open" | "close" | "show";
}

export const windowOptions: Declared = {
  command: "window <action>",
  describe: "Open or close the maintenance window of a run, or show its record",
  positional: [
    [
      "action",
      { type: "string", choices: ["open", "close", "show"], describe: "open, close or show" },
    ],
  ],
  options: { ...common("run"), ...listOptions },
  examples: ["$0 window open --run m1", "$0 window show --run m1 -f csv"],
};
