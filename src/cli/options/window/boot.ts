import { type Declared, flag, perHost, string } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common, nodeOption } from "../shared.ts";

export const bootOptions: Declared = {
  command: "boot",
  describe: "Stage, verify or remove boot files of machines in a conductor's TFTP tree",
  options: {
    ...common("run"),
    "tftp-root": string("The conductor's TFTP tree", {
      ...{ demandOption: true, form: [/./, "a folder"] },
    }),
    from: perHost("DIR", "old tree with kernels and ramdisks (default: the same tree)"),
    "served-as": string(
      "Path of the tree in boot files, if it differs from --tftp-root: /tftpboot",
      { form: [/^\/[!-~]*$/, "an absolute path without spaces, in ASCII"] },
    ),
    ...nodeOption("Only this machine"),
    plan: flag("Only show the changes"),
    verify: flag("Read and check the tree in the same way as a booting machine"),
    undo: flag("Remove the boot files that this run staged"),
    ...common("key-file", "no-window", "yes"),
    ...listOptions,
  },
  exclude: ["plan verify undo"],
  examples: ["$0 boot --run m1 --tftp-root /tftpboot --from compute-1=/root/tftp/compute-1"],
};
