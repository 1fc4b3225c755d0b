import type { FormatOptions } from "../../../lib/table/format.ts";
import { releaseNames } from "../../../run/files/load-tables.ts";
import type { CheckAsked } from "../../../window/check/check.ts";
import type { ConfigWords } from "../../../window/config/config.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, perHost, word, words } from "../declared.ts";
import { listOptions, matchOption } from "../format.ts";
import { common, meaning, needed } from "../shared.ts";

export interface CheckArgs extends Voice, CheckAsked {
  readonly allRows: boolean;
  readonly match?: readonly string[];
}

export const checkOptions: Declared = {
  command: "check",
  describe: "Say whether the window can begin, as nova-status upgrade check does; writes nothing",
  options: {
    ...common("run", "nova-bm-db"),
    "nova-db": word("Nova's database, given the same way"),
    ...needed("ironic-db"),
    "ironic-release": {
      ...{ choices: releaseNames(), requiresArg: true },
      describe: "Release, where the database alone does not tell it",
    },
    "allow-pairing": flag("The plan is made with --allow-pairing: another pairing is a warning"),
    "skip-blocked": flag("As for apply: blocked machines are left out, and are warnings"),
    "nova-api-db": word(
      "Later Novas: the API database, for instance mappings, flavors and aggregates",
    ),
    "placement-db": word("Later Novas: Placement's database, for allocations"),
    "ironic-conf": words(
      "ironic.conf of a conductor, for the time of the hand-over; repeat it for each",
    ),
    glance: flag("Ask Glance whether images are active: OS_*, or --os-cloud"),
    ...meaning("os-cloud", "Glance: cloud of clouds.yaml; OS_CLOUD without it"),
    ...common("os-cacert", "insecure"),
    ...meaning("all-rows", "Show checks that succeed too"),
    ...matchOption,
    ...meaning("watch", "Seconds that nova-compute's heartbeats are watched standing still"),
  },
  epilogue: "Exit status: 0 success, 1 warnings, 2 failures, 255 the check did not end",
  examples: [
    "$0 check --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};

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
    "nova-conf": words(
      "[HOST=]FILE: nova.conf to patch or check; repeat it for each",
      perHost("FILE"),
    ),
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
  ...{ exclude: ["part ironic-conf"], want: ["check: nova-conf ironic-conf"] },
  epilogue: "Exit status: 0 all is as needed, 2 something is to change",
  examples: [
    "$0 config --ironic-release juno",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --check",
    "$0 config --run m1 --ironic-conf /root/confs/conductor-1.conf > conductor-1.patch",
  ],
};
