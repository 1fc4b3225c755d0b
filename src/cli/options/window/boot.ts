import type { FormatOptions } from "../../../lib/table/format.ts";
import type { BootWords } from "../../../window/boot/boot.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, perHost, word, words } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common, nodeOption } from "../shared.ts";

export interface BootArgs extends Voice, FormatOptions, BootWords {
  readonly yes: boolean;
}

export const bootOptions: Declared = {
  command: "boot",
  describe: "Stage boot files in a conductor's TFTP tree, so that tenants boot; verify, undo",
  options: {
    ...common("run"),
    "tftp-root": word("The conductor's TFTP tree", {
      ...{ demandOption: true, form: [/./, "a folder"] },
    }),
    from: words(
      "[HOST=]DIR: old tree, for kernels and ramdisks; the same tree without it",
      perHost("DIR"),
    ),
    "served-as": word(
      "How configurations name the tree's root, where it lies elsewhere: /tftpboot",
      { form: [/^\/[!-~]*$/, "an absolute path without blanks, in ASCII"] },
    ),
    ...nodeOption("Only this machine"),
    plan: flag("Show what would change, and stop"),
    verify: flag("Read the tree as a machine would"),
    undo: flag("Take back what this run staged there"),
    ...common("key-file", "no-window", "yes"),
    ...listOptions,
  },
  exclude: ["plan verify undo"],
  examples: ["$0 boot --run m1 --tftp-root /tftpboot --from compute-1=/root/tftp/compute-1"],
};
