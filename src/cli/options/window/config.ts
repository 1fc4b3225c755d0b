import type { FormatOptions } from "../../../lib/table/format.ts";
import { releaseNames } from "../../../run/files/load-tables.ts";
import type { ConfigWords } from "../../../window/config/config.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, word, words } from "../declared.ts";
import { listOptions } from "../format.ts";

export type ConfigArgs = Voice & FormatOptions & ConfigWords;

export const configOptions: Declared = {
  command: "config",
  describe:
    "Print what nova.conf needs for Ironic, or ironic.conf for the window, as a patch of given files, or check them",
  options: {
    run: word("The run's folder: its release and compute hosts"),
    "ironic-release": {
      ...{ choices: releaseNames(), requiresArg: true },
      describe: "Release of Ironic and of its Nova; without it, that of the run's plan",
    },
    "nova-conf": words("[HOST=]FILE: nova.conf to patch or check; repeat it for each"),
    "ironic-conf": words(
      "ironic.conf of a conductor: print the patch that speeds the hand-over up; repeat it for each",
    ),
    part: {
      ...{ choices: ["scheduler", "compute"], requiresArg: true },
      describe: "Only the settings of nova-scheduler, or of nova-compute",
    },
    "exact-filters": flag("Flavors match machines of exactly their size"),
    check: flag("A row a setting, and no patch"),
    ...listOptions,
  },
  want: { check: ["nova-conf", "ironic-conf"] },
  epilogue: "Exit status: 0 all is as needed, 2 something is to change",
  examples: [
    "$0 config --ironic-release juno",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --check",
    "$0 config --run m1 --ironic-conf /root/confs/conductor-1.conf > conductor-1.patch",
  ],
};
