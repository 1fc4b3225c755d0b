import { type Declared, flag, list, number, perHost, string } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common, needed, nodeOption, TARGET } from "../shared.ts";

export const handoverOptions: Declared = {
  command: "handover",
  describe: "Hand staged machines over to Ironic's conductors and watch each takeover",
  options: {
    ...common("run"),
    ...needed("ironic-db"),
    ...nodeOption("Only this machine"),
    "in-flight": number(
      "Maximum number of released machines that are not taken over yet (default: the number that conductors take over in one pass)",
      { least: 1 },
    ),
    "per-minute": number("Maximum number of machines to release per minute", { above: 0 }),
    deadline: number("Maximum seconds for the takeover of one machine", { default: 900, above: 0 }),
    "max-failures": number("Stop after this number of new failures", { default: 1, least: 1 }),
    "conductor-log": list("Conductor log to quote for failures: FILE or FILE:LINE. Repeatable"),
    undo: flag("Put the machines that this run released back into maintenance"),
    ...common("lock-wait", "after-finish", "no-window", "yes"),
    ...listOptions,
  },
  examples: ["$0 handover --run m1 --ironic-db conf:/etc/ironic/ironic.conf"],
};

export const finishOptions: Declared = {
  command: "finish",
  describe: "End the window: unprotect the machines and let Ironic clean them again",
  options: {
    ...common("run", ...TARGET, "in-flight", "lock-wait"),
    ...nodeOption("Only this machine"),
    undo: flag("Restore the protection that this run removed"),
    plan: flag("Only show the changes"),
    ...common("no-window", "yes"),
    ...listOptions,
  },
  examples: [
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan",
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};

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
