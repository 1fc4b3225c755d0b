import type { FormatOptions } from "../../lib/table/format.ts";
import type { RollbackWords } from "../../migrate/rollback/rollback.ts";
import type { WatchArgs } from "../commands/node/nova-options.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, word } from "./declared.ts";
import { listOptionsWithoutAll } from "./format.ts";
import { common, meaning, NOVA_DATABASES, nodeOption, TARGET, WATCH } from "./shared.ts";

export interface RollbackArgs extends Voice, FormatOptions, WatchArgs, RollbackWords {
  readonly plan: boolean;
  readonly novaBmDb?: string;
  readonly fenceCommand?: string;
  readonly yes: boolean;
}

export const rollbackOptions: Declared = {
  command: "rollback",
  describe: "Take back what this run loaded; rows somebody changed since are left and listed",
  options: {
    ...common("run", ...TARGET, "in-flight", "lock-wait", ...NOVA_DATABASES, ...WATCH),
    "nova-bm-db": word(
      "Of a run that moves machines of nova-baremetal between hosts: nova_bm, given the same way",
    ),
    "fence-command": word(
      "If the spare's BMC is dead: program that exits with 0 once the spare, its argument, is off",
    ),
    ...meaning("leave-nova", "Remove Ironic's rows alone, with no look at nova-compute"),
    all: flag("Every machine of this run"),
    ...nodeOption("This machine"),
    plan: flag("Only show what would be removed"),
    ...common("after-finish", "no-window", "yes", "key-file"),
    ...listOptionsWithoutAll,
  },
  exclude: [["nova-db", "leave-nova"]],
  examples: ["$0 rollback --run m1 --ironic-db conf:/etc/ironic/ironic.conf --all --plan"],
};
