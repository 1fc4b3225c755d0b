import { releaseNames } from "../../../run/files/load-tables.ts";
import type { CheckAsked } from "../../../window/check/check.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, word, words } from "../declared.ts";
import { matchOption } from "../format.ts";
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
