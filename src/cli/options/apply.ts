import { POWER_MAX_AGE } from "../../model/power.ts";
import { type Declared, flag, list, number, program, string } from "./declared.ts";
import {
  common,
  listOptions,
  listOptionsWithoutAll,
  meaning,
  NOVA_DATABASES,
  nodeOption,
  TARGET,
} from "./shared.ts";

/** For commands that change Nova's rows. */
const WATCH = ["watch", "allow-running-compute", "allow-queued-requests"] as const;

export const LOADING = {
  apply: {
    command: "apply",
    describe: "Load the run's plan into Ironic and verify it. To resume, run the command again",
    options: {
      ...common("run", ...TARGET, "in-flight", ...NOVA_DATABASES, ...WATCH),
      ...meaning("leave-nova", "Load only Ironic. Exit status 3 if the plan changes Nova's rows"),
      "skip-blocked": flag("Exclude blocked machines (exit status 3)"),
      staged: flag("Load machines in maintenance. `handover` then hands them over one by one"),
      "power-max-age": number("Maximum age of power readings (minutes)", {
        default: POWER_MAX_AGE,
      }),
      ...common("after-finish", "no-window", "yes", "key-file"),
      ...listOptions,
    },
    exclude: ["nova-db leave-nova"],
    implies: ["staged: ironic-db"],
    fixes: {
      staged:
        "Remove --staged. Over REST, adoption hands each machine over to its conductor directly.",
    },
    examples: [
      "$0 apply --run m1 --ironic-db conf:/etc/ironic/ironic.conf --yes",
      "$0 apply --run m1 --os-cloud admin --in-flight 8 --yes",
    ],
  },
  verify: {
    command: "verify",
    describe: "Compare every Ironic row with the plan, without writing to any database",
    options: {
      ...common("run", ...TARGET, ...NOVA_DATABASES),
      takeover: flag("Show the progress of each machine's hand-over instead"),
      final: flag(
        "After nova-compute has started: fail if a machine has no hypervisor or power state, has an error, or is in maintenance",
      ),
      "placement-db": string("With --nova-db: Placement's database, to compare resource providers"),
      "conductor-log": list(
        "With --takeover: conductor log: FILE, or FILE:LINE to start at a line. Repeatable",
      ),
      "compute-log": list(
        "With --final: nova-compute log: FILE, or FILE:LINE to start at a line. Its last start must use the ironic driver, without later errors. Repeatable",
      ),
      "nova-bm-db": string(
        "For moves of nova-baremetal machines between hosts: the nova_bm database",
      ),
      "queue-purged": flag("For host moves: you confirm that the queue compute.HOST is empty"),
      ...common("key-file"),
      ...listOptions,
      "all-rows": {
        ...listOptions["all-rows"],
        describe: "Show every row, including validated rows",
      },
    },
    exclude: ["takeover: nova-db final"],
    implies: [
      ...["takeover: ironic-db", "placement-db: nova-db"],
      ...["conductor-log: takeover", "compute-log: final"],
    ],
    examples: ["$0 verify --run m1 --ironic-db conf:/etc/ironic/ironic.conf -f csv"],
  },
  rollback: {
    command: "rollback",
    describe: "Remove the rows that this run loaded. Rows changed since then are kept and listed",
    options: {
      ...common("run", ...TARGET, "in-flight", "lock-wait", ...NOVA_DATABASES, ...WATCH),
      "nova-bm-db": string(
        "For moves of nova-baremetal machines between hosts: the nova_bm database",
      ),
      "fence-command": program(
        "For a spare whose BMC is down: program (exit status 0: the spare is off)",
      ),
      ...meaning("leave-nova", "Remove only Ironic's rows and do not watch nova-compute"),
      all: flag("Roll back every machine of this run"),
      ...nodeOption("Roll back only this machine"),
      plan: flag("Only show the rows to remove"),
      ...common("after-finish", "no-window", "yes", "key-file"),
      ...listOptionsWithoutAll,
    },
    exclude: ["nova-db leave-nova"],
    examples: ["$0 rollback --run m1 --ironic-db conf:/etc/ironic/ironic.conf --all --plan"],
  },
  rehearse: {
    command: "rehearse",
    describe: "Apply, verify and roll back on restored copies of Ironic's and Nova's databases",
    options: {
      ...common("run"),
      ...meaning("ironic-db", "Restored copy of Ironic's database. The rehearsal writes to it"),
      ...meaning("nova-db", "Restored copy of Nova's database, if the plan changes its rows"),
      ...meaning("nova-api-db", "Restored copy of nova_api, if the plan changes its flavors"),
      "skip-blocked": flag("Exclude blocked machines, as in apply"),
      staged: flag("Load machines in maintenance, as in apply"),
      "power-max-age": number("Maximum age of power readings (minutes)", {
        default: POWER_MAX_AGE,
      }),
      ...common("yes", "key-file"),
      ...listOptionsWithoutAll,
    },
    examples: [
      "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url",
      "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url --nova-db file:/root/nova-copy.url --yes",
    ],
  },
} satisfies { readonly [command: string]: Declared };
