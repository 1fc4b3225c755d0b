import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { refused } = EXIT_STATUS;

/** What speaks against relying on power readings. */
export const POWER = {
  "N2I-E307": {
    exit: refused.status,
    title: "the power readings are too old, or not the plan's",
    why: "A machine switched since then would be recorded wrongly, and the conductor acts on records.",
    fix: "Run power again, then plan, then apply.",
  },
  "N2I-E313": {
    exit: refused.status,
    title: "not every machine could be asked again",
    why: "--recheck-power promises that each machine was asked right before it is loaded; nothing is loaded on the word of an earlier reading.",
    fix: "Run power again, then plan, then apply; without --recheck-power the readings count for --power-max-age.",
  },
} as const satisfies Record<string, Refusal>;
