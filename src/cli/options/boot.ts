import type { FormatOptions } from "../../report/format.ts";
import type { BootWords } from "../../stages/boot.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { keyOption, nodeOption, runOption, yesOption } from "./shared.ts";

export interface BootArgs extends Voice, FormatOptions, BootWords {
  readonly yes: boolean;
}

export const bootOptions: Declared = {
  command: "boot",
  describe: "Stage boot files in a conductor's TFTP tree, so that tenants boot; verify, undo",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        "tftp-root": {
          type: "string",
          demandOption: true,
          requiresArg: true,
          describe: "The conductor's TFTP tree",
        },
        from: {
          type: "string",
          array: true,
          nargs: 1,
          describe: "[HOST=]DIR: old tree, for kernels and ramdisks; the same tree without it",
        },
        "served-as": {
          type: "string",
          requiresArg: true,
          describe: "How configurations name the tree's root, where it lies elsewhere: /tftpboot",
        },
        ...nodeOption("Only this machine"),
        plan: { type: "boolean", default: false, describe: "Show what would change, and stop" },
        verify: { type: "boolean", default: false, describe: "Read the tree as a machine would" },
        undo: { type: "boolean", default: false, describe: "Take back what this run staged there" },
        ...keyOption,
        ...yesOption,
        ...formatOptions,
      })
      .example("$0 boot --run m1 --tftp-root /tftpboot --from compute-1=/root/tftp/compute-1", ""),
};
