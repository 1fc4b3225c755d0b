import { POWER_MAX_AGE } from "../../model/power.ts";
import type { FormatOptions } from "../../report/format.ts";
import type { ApplyWords } from "../../stages/apply.ts";
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
  runOption,
  targetOptions,
  yesOption,
} from "./shared.ts";

export interface ApplyArgs extends Voice, FormatOptions, WatchArgs, ApplyWords {
  readonly yes: boolean;
}

export const applyOptions: Declared = {
  command: "apply",
  describe: "Load the run's plan into Ironic, then verify it; run it again to go on",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...novaOption,
        ...novaApiOption,
        ...watchOptions,
        ...leaveNovaOption(
          "Load Ironic alone, with no look at nova-compute (exit 3 when the plan changes Nova's rows)",
        ),
        "skip-blocked": {
          type: "boolean",
          default: false,
          describe: "Leave blocked machines out (exit 3)",
        },
        staged: {
          type: "boolean",
          default: false,
          describe: "Load in maintenance; `handover` hands over machine by machine",
        },
        "power-max-age": {
          type: "number",
          default: POWER_MAX_AGE,
          requiresArg: true,
          describe: "Minutes since the oldest power reading of the plan",
        },
        "recheck-power": {
          type: "boolean",
          default: false,
          describe:
            "Ask each machine once more right before its batch; leave out those that changed",
        },
        ...afterFinishOption,
        ...yesOption,
        ...keyOption,
        ...formatOptions,
      })
      .example("$0 apply --run m1 --ironic-db conf:/etc/ironic/ironic.conf --yes", "")
      .example("$0 apply --run m1 --os-cloud admin --in-flight 8 --yes", ""),
};
