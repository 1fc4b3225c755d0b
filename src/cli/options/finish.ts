import type { FormatOptions } from "../../report/format.ts";
import type { FinishWords } from "../../stages/finish.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import {
  inFlightOption,
  lockWaitOption,
  nodeOption,
  runOption,
  targetOptions,
  yesOption,
} from "./shared.ts";

export interface FinishArgs extends Voice, FormatOptions, FinishWords {
  readonly plan: boolean;
  readonly yes: boolean;
}

export const finishOptions: Declared = {
  command: "finish",
  describe:
    "End the window: clear the protection of tenants' machines and leave their cleaning to Ironic",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...lockWaitOption,
        ...nodeOption("Only this machine"),
        undo: {
          type: "boolean",
          default: false,
          describe: "Protect the machines again that this run cleared",
        },
        plan: { type: "boolean", default: false, describe: "Only show what would be cleared" },
        ...yesOption,
        ...formatOptions,
      })
      .example("$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan", "")
      .example("$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf", ""),
};
