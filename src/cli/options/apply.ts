import type { FormatOptions } from "../../lib/table/format.ts";
import type { ApplyWords } from "../../migrate/apply/apply.ts";
import { POWER_MAX_AGE } from "../../model/power.ts";
import type { WatchArgs } from "../commands/node/nova-options.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number } from "./declared.ts";
import { listOptions } from "./format.ts";
import { common, meaning, NOVA_DATABASES, TARGET, WATCH } from "./shared.ts";

export interface ApplyArgs extends Voice, FormatOptions, WatchArgs, ApplyWords {
  readonly yes: boolean;
}

export const applyOptions: Declared = {
  command: "apply",
  describe: "Load the run's plan into Ironic, then verify it; run it again to go on",
  options: {
    ...common("run", ...TARGET, "in-flight", ...NOVA_DATABASES, ...WATCH),
    ...meaning(
      "leave-nova",
      "Load Ironic alone, with no look at nova-compute (exit 3 when the plan changes Nova's rows)",
    ),
    "skip-blocked": flag("Leave blocked machines out (exit 3)"),
    staged: flag("Load in maintenance; `handover` hands over machine by machine"),
    "power-max-age": number("Minutes since the oldest power reading of the plan", {
      ...{ default: POWER_MAX_AGE, requiresArg: true },
    }),
    ...common("after-finish", "no-window", "yes", "key-file"),
    ...listOptions,
  },
  exclude: [["nova-db", "leave-nova"]],
  examples: [
    "$0 apply --run m1 --ironic-db conf:/etc/ironic/ironic.conf --yes",
    "$0 apply --run m1 --os-cloud admin --in-flight 8 --yes",
  ],
};
