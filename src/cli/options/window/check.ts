import { releaseNames } from "../../../run/files/load-tables.ts";
import { type Declared, flag, list, perHost, string } from "../declared.ts";
import { listOptions, matchOption } from "../format.ts";
import { common, meaning, needed } from "../shared.ts";

export const checkOptions: Declared = {
  command: "check",
  describe: "Check whether the window can begin, like nova-status upgrade check. Read-only",
  options: {
    ...common("run", "nova-bm-db"),
    "nova-db": string("Nova's database, in the same form"),
    ...needed("ironic-db"),
    "ironic-release": {
      ...{ choices: releaseNames(), requiresArg: true },
      describe: "Release of Ironic, if the database alone does not determine it",
    },
    "allow-pairing": flag("For plan --allow-pairing: report a different pairing as a warning"),
    "skip-blocked": flag("For apply --skip-blocked: report blocked machines as warnings"),
    "nova-api-db": string("Later Nova releases: the API database (mappings, flavors, aggregates)"),
    "placement-db": string("Later Nova releases: Placement's database, for allocations"),
    "ironic-conf": list("ironic.conf of a conductor, to estimate the hand-over. Repeatable"),
    glance: flag("Check in Glance whether images are active. Credentials: OS_* or --os-cloud"),
    ...meaning("os-cloud", "Glance: cloud in clouds.yaml (default: OS_CLOUD)"),
    ...common("os-cacert", "insecure"),
    ...meaning("all-rows", "Also show successful checks"),
    ...matchOption,
    ...meaning("watch", "Seconds to check that nova-compute does not send heartbeats"),
  },
  epilogue: "Exit status: 0 success, 1 warnings, 2 failures, 255 the check was not completed",
  examples: [
    "$0 check --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};

export const configOptions: Declared = {
  command: "config",
  describe: "Print the nova.conf settings for Ironic, or patch or check configuration files",
  options: {
    run: string("The run's folder, for its release and compute hosts"),
    "ironic-release": {
      ...{ choices: releaseNames(), requiresArg: true },
      describe: "Release of Ironic and Nova (default: from the plan or nova2ironic.yaml)",
    },
    "nova-conf": perHost("FILE", "nova.conf to patch or check. Repeat for each host"),
    "ironic-conf": list("ironic.conf of a conductor, to patch for a faster hand-over. Repeatable"),
    part: {
      ...{ choices: ["scheduler", "compute"], requiresArg: true },
      describe: "Only the settings of nova-scheduler or of nova-compute",
    },
    "exact-filters": flag("Use filters that match a flavor only with machines of exactly its size"),
    check: flag("Show a row for each setting instead of a patch"),
    ...listOptions,
  },
  ...{ exclude: ["part ironic-conf"], implies: ["check: nova-conf ironic-conf"] },
  epilogue: "Exit status: 0 all settings are correct, 2 settings must change",
  examples: [
    "$0 config --ironic-release juno",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
    "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --check",
    "$0 config --run m1 --ironic-conf /root/confs/conductor-1.conf > conductor-1.patch",
  ],
};
