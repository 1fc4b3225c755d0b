import { releaseNames } from "../../edge/disk/load-tables.ts";
import type { FormatOptions } from "../../report/format.ts";
import type { ConfigWords } from "../../stages/config.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { runOption } from "./shared.ts";

export type ConfigArgs = Voice & FormatOptions & ConfigWords;

export const configOptions: Declared = {
  command: "config",
  describe: "Print what nova.conf needs for Ironic, as a patch of given files, or check them",
  builder: (yargs) =>
    yargs
      .options({
        run: {
          ...runOption.run,
          demandOption: false,
          describe: "The run's folder: its release and sizes",
        },
        "ironic-release": {
          choices: releaseNames(),
          requiresArg: true,
          describe: "Release of Ironic and of its Nova; without it, that of the run's plan",
        },
        "nova-conf": {
          type: "string",
          array: true,
          nargs: 1,
          describe: "[HOST=]FILE: nova.conf to patch or check; repeat it for each",
        },
        part: {
          choices: ["scheduler", "compute"] as const,
          requiresArg: true,
          describe: "Only the settings of nova-scheduler, or of nova-compute",
        },
        "exact-filters": {
          type: "boolean",
          default: false,
          describe: "Flavors match machines of exactly their size; tells which match none",
        },
        "nova-db": {
          type: "string",
          requiresArg: true,
          describe:
            "With --exact-filters: look at every flavor for machines, not at those in use alone",
        },
        "nova-api-db": {
          type: "string",
          requiresArg: true,
          describe: "and at those of Newton and later, in nova_api's database",
        },
        check: { type: "boolean", default: false, describe: "A row a setting, and no patch" },
        ...formatOptions,
      })
      .epilogue("Exit status: 0 all is as needed, 2 something is to change")
      .example("$0 config --ironic-release juno", "")
      .example(
        "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
        "",
      ),
};
