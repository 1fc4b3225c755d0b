import type { FormatOptions } from "../../report/format.ts";
import type { RollbackWords } from "../../stages/rollback.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import {
  leaveNovaOption,
  novaApiOption,
  novaOption,
  type WatchArgs,
  watchOptions,
} from "./nova.ts";
import {
  afterFinishOption,
  inFlightOption,
  keyOption,
  lockWaitOption,
  nodeOption,
  runOption,
  targetOptions,
  yesOption,
} from "./shared.ts";

export interface RollbackArgs extends Voice, FormatOptions, WatchArgs, RollbackWords {
  readonly plan: boolean;
  readonly yes: boolean;
}

export const rollbackOptions: Declared = {
  command: "rollback",
  describe: "Take back what this run loaded; rows somebody changed since are left and listed",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...lockWaitOption,
        ...novaOption,
        ...novaApiOption,
        ...watchOptions,
        ...leaveNovaOption("Remove Ironic's rows alone, with no look at nova-compute"),
        all: { type: "boolean", default: false, describe: "Every machine of this run" },
        ...nodeOption("This machine"),
        plan: { type: "boolean", default: false, describe: "Only show what would be removed" },
        ...afterFinishOption,
        ...yesOption,
        ...keyOption,
        ...formatOptions,
      })
      .example("$0 rollback --run m1 --ironic-db conf:/etc/ironic/ironic.conf --all --plan", ""),
};
