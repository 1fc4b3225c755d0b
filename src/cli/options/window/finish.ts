import type { FormatOptions } from "../../../lib/table/format.ts";
import type { FinishWords } from "../../../window/finish/finish.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common, nodeOption, TARGET } from "../shared.ts";

export interface FinishArgs extends Voice, FormatOptions, FinishWords {
  readonly plan: boolean;
  readonly yes: boolean;
}

export const finishOptions: Declared = {
  command: "finish",
  describe:
    "End the window: clear the protection of tenants' machines and leave their cleaning to Ironic",
  options: {
    ...common("run", ...TARGET, "in-flight", "lock-wait"),
    ...nodeOption("Only this machine"),
    undo: flag("Protect the machines again that this run cleared"),
    plan: flag("Only show what would be cleared"),
    ...common("no-window", "yes"),
    ...listOptions,
  },
  examples: [
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan",
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};
