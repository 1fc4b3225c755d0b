import { releaseNames } from "../../edge/disk/load-tables.ts";
import type { PlanWords } from "../../stages/plan.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { type NovaArgs, novaPlanOptions } from "./nova.ts";
import { ipmitoolOption, keyOption, runOption, targetOptions } from "./shared.ts";

export interface PlanArgs extends Voice, NovaArgs, PlanWords {
  readonly diff?: string;
  readonly all: boolean;
  readonly conductorIpmitool?: string;
  readonly detailedExitcode: boolean;
}

const proposeOptions = {
  "propose-site": {
    type: "string",
    requiresArg: true,
    describe: "Write a first site document to this new file: what is known, and what to decide",
  },
  "placement-db": {
    type: "string",
    requiresArg: true,
    describe: "Placement's database, for --propose-site: it knows resource classes",
  },
} as const;

export const planOptions: Declared = {
  command: "plan",
  describe: "Show what apply would load; writes to no database",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        "ironic-release": {
          type: "string",
          requiresArg: true,
          choices: releaseNames(),
          describe: "Which of the releases it is, where several have one schema",
        },
        ...novaPlanOptions,
        site: { type: "string", requiresArg: true, describe: "Your decisions: YAML or JSON" },
        "allow-pairing": {
          type: "boolean",
          default: false,
          describe: "Source and target may be of different releases; written into the plan",
        },
        "beside-others": {
          type: "boolean",
          default: false,
          describe:
            "Ironic's database holds nodes of others and is the right one; written into the plan",
        },
        diff: {
          type: "string",
          describe: "Show every field with its origin, of one machine or all",
        },
        all: { type: "boolean", default: false, describe: "With --diff: fields left NULL too" },
        "max-unreachable": {
          type: "number",
          default: 0,
          requiresArg: true,
          describe: "Load machines whose BMC does not answer, if they are no more than this",
        },
        ...ipmitoolOption,
        ...proposeOptions,
        "record-power": {
          type: "boolean",
          default: false,
          describe: "Write the power measured into power_state, which is NULL otherwise",
        },
        "detailed-exitcode": {
          type: "boolean",
          default: false,
          describe: "Exit 2 when there is something to load",
        },
        ...keyOption,
      })
      .example("$0 plan --run m1 --ironic-db conf:/etc/ironic/ironic.conf --site site.yaml", "")
      .example("$0 plan --run m1 --os-cloud admin --site site.yaml", ""),
};
