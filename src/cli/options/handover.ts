import type { FormatOptions } from "../../report/format.ts";
import type { HandoverWords } from "../../stages/handover.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import {
  afterFinishOption,
  ironicOption,
  lockWaitOption,
  nodeOption,
  runOption,
  yesOption,
} from "./shared.ts";

export interface HandoverArgs extends Voice, FormatOptions, HandoverWords {
  readonly inFlight: number;
  readonly perMinute?: number;
  readonly deadline: number;
  readonly maxFailures: number;
  readonly yes: boolean;
}

export const handoverOptions: Declared = {
  command: "handover",
  describe:
    "Hand staged machines over to Ironic's conductors, one by one, and watch each take-over",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...ironicOption,
        ...nodeOption("Only this machine"),
        "in-flight": {
          type: "number",
          default: 8,
          describe: "Machines released and not taken over yet, at most",
        },
        "per-minute": { type: "number", describe: "Machines released a minute, at most" },
        deadline: {
          type: "number",
          default: 900,
          describe: "Seconds a conductor may take for one machine",
        },
        "max-failures": {
          type: "number",
          default: 1,
          describe: "Stop after this many new failures",
        },
        "conductor-log": {
          type: "string",
          array: true,
          nargs: 1,
          describe: "Log of a conductor, or a copy kept fresh; failures quote it. Repeatable",
        },
        undo: {
          type: "boolean",
          default: false,
          describe: "Put machines this run released back into maintenance",
        },
        ...lockWaitOption,
        ...afterFinishOption,
        ...yesOption,
        ...formatOptions,
      })
      .example("$0 handover --run m1 --ironic-db conf:/etc/ironic/ironic.conf", ""),
};
