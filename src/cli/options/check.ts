import { releaseNames } from "../../edge/disk/load-tables.ts";
import type { CheckAsked } from "../../stages/check.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { ironicOption, runOption, targetOptions } from "./shared.ts";

export interface CheckArgs extends Voice, CheckAsked {}

export const checkOptions: Declared = {
  command: "check",
  describe: "Say whether the window can begin, as nova-status upgrade check does; writes nothing",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        "nova-bm-db": {
          type: "string",
          demandOption: true,
          requiresArg: true,
          describe: "nova_bm: URL without password, file:PATH, env:NAME or conf:PATH",
        },
        "nova-db": {
          type: "string",
          requiresArg: true,
          describe: "Nova's database, given the same way",
        },
        ...ironicOption,
        "ironic-release": {
          choices: releaseNames(),
          requiresArg: true,
          describe: "Release, where the database alone does not tell it",
        },
        "allow-pairing": {
          type: "boolean",
          default: false,
          describe: "The plan is made with --allow-pairing: another pairing is a warning",
        },
        "helper-host": {
          type: "string",
          array: true,
          nargs: 1,
          describe:
            "HOST[:PORT] of a deploy helper; without it, my_ip of the snapshot's nova.conf files",
        },
        "nova-api-db": {
          type: "string",
          requiresArg: true,
          describe: "Later Novas: the API database, for instance mappings, flavors and aggregates",
        },
        "placement-db": {
          type: "string",
          requiresArg: true,
          describe: "Later Novas: Placement's database, for allocations",
        },
        glance: {
          type: "boolean",
          default: false,
          describe: "Ask Glance whether images are active: OS_*, or --os-cloud",
        },
        "os-cloud": {
          ...targetOptions["os-cloud"],
          describe:
            "Nova's policy (plan --flavors-via rest) and Glance: cloud of clouds.yaml; OS_CLOUD without it",
        },
        "os-cacert": targetOptions["os-cacert"],
        insecure: targetOptions.insecure,
        watch: {
          type: "number",
          default: 60,
          requiresArg: true,
          describe: "Seconds that nova-compute's heartbeats are watched standing still",
        },
      })
      .epilogue("Exit status: 0 success, 1 warnings, 2 failures, 255 the check did not end")
      .example(
        "$0 check --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --ironic-db conf:/etc/ironic/ironic.conf",
        "",
      ),
};
