import type { FormatOptions } from "../../report/format.ts";
import type { VerifyAsked } from "../../stages/verify.ts";
import type { TakeoverAsked } from "../../stages/verify-takeover.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { novaApiOption, novaOption } from "./nova.ts";
import { keyOption, runOption, targetOptions } from "./shared.ts";

export interface VerifyArgs extends Voice, FormatOptions, VerifyAsked, TakeoverAsked {
  readonly takeover: boolean;
}

export const verifyOptions: Declared = {
  command: "verify",
  describe: "Compare Ironic row by row with the plan; trusts no counter and writes nothing",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...novaOption,
        ...novaApiOption,
        "all-rows": { type: "boolean", default: false, describe: "List validated rows too" },
        takeover: {
          type: "boolean",
          default: false,
          describe: "Show instead how far the hand-over of each machine is",
        },
        final: {
          type: "boolean",
          default: false,
          describe:
            "nova-compute has started: fail on a machine without hypervisor, in maintenance, without power state or with an error",
        },
        "placement-db": {
          type: "string",
          requiresArg: true,
          describe:
            "With --nova-db: Placement's database, given the same way: resource providers too",
        },
        "conductor-log": {
          type: "string",
          array: true,
          nargs: 1,
          describe:
            "With --takeover: log of a conductor, FILE or FILE:LINE to begin there. Repeatable",
        },
        ...keyOption,
        ...formatOptions,
      })
      .example("$0 verify --run m1 --ironic-db conf:/etc/ironic/ironic.conf -f csv", ""),
};
