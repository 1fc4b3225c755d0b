import type { FormatOptions } from "../../../lib/table/format.ts";
import { POWER_MAX_AGE } from "../../../model/power.ts";
import type { RehearseWords } from "../../../window/rehearse/rehearse.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, number } from "../declared.ts";
import { listOptionsWithoutAll } from "../format.ts";
import { common, meaning } from "../shared.ts";

export interface RehearseArgs extends Voice, FormatOptions, RehearseWords {
  readonly yes: boolean;
}

export const rehearseOptions: Declared = {
  command: "rehearse",
  describe:
    "Apply, verify, roll back, apply and verify on restored copies of Ironic's and Nova's databases",
  options: {
    ...common("run"),
    ...meaning(
      "ironic-db",
      "A copy of Ironic's database, restored from a backup; it is written to",
    ),
    ...meaning("nova-db", "The same of Nova's database, for a plan that changes its rows"),
    ...meaning("nova-api-db", "The same of nova_api's, for a plan that changes flavors there"),
    "skip-blocked": flag("As for apply: leave blocked machines out"),
    staged: flag("As for apply: load in maintenance"),
    "power-max-age": number("As for apply: minutes since the plan's oldest power reading", {
      ...{ default: POWER_MAX_AGE, requiresArg: true },
    }),
    ...common("yes", "key-file"),
    ...listOptionsWithoutAll,
  },
  examples: [
    "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url",
    "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url --nova-db file:/root/nova-copy.url --yes",
  ],
};
