import type { FormatOptions } from "../../lib/table/format.ts";
import type { ApplyWords } from "../../migrate/apply/apply.ts";
import type { RollbackWords } from "../../migrate/rollback/rollback.ts";
import { POWER_MAX_AGE } from "../../model/power.ts";
import type { RehearseWords } from "../../window/rehearse/rehearse.ts";
import type { WatchArgs } from "../commands/node/nova-options.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, word } from "./declared.ts";
import { listOptions, listOptionsWithoutAll } from "./format.ts";
import { common, meaning, NOVA_DATABASES, nodeOption, TARGET, WATCH } from "./shared.ts";

export interface ApplyArgs extends Voice, FormatOptions, WatchArgs, ApplyWords {
  readonly yes: boolean;
}

export const applyOptions: Declared = {
  command: "apply",
  describe: "Load the run's plan into Ironic, then verify it; run it again to go on",
  options: {
    ...common("run", ...TARGET, "in-flight", ...NOVA_DATABASES, ...WATCH),
    ...meaning(
      "leave-nova",
      "Load Ironic alone, with no look at nova-compute (exit 3 when the plan changes Nova's rows)",
    ),
    "skip-blocked": flag("Leave blocked machines out (exit 3)"),
    staged: flag("Load in maintenance; `handover` hands over machine by machine"),
    "power-max-age": number("Minutes since the oldest power reading of the plan", {
      default: POWER_MAX_AGE,
    }),
    ...common("after-finish", "no-window", "yes", "key-file"),
    ...listOptions,
  },
  exclude: ["nova-db leave-nova"],
  want: ["staged: ironic-db"],
  fixes: {
    staged:
      "Remove --staged: over REST, adoption hands each machine over to its conductor directly.",
  },
  examples: [
    "$0 apply --run m1 --ironic-db conf:/etc/ironic/ironic.conf --yes",
    "$0 apply --run m1 --os-cloud admin --in-flight 8 --yes",
  ],
};

export interface RollbackArgs extends Voice, FormatOptions, WatchArgs, RollbackWords {
  readonly plan: boolean;
  readonly novaBmDb?: string;
  readonly fenceCommand?: string;
  readonly yes: boolean;
}

export const rollbackOptions: Declared = {
  command: "rollback",
  describe: "Take back what this run loaded; rows somebody changed since are left and listed",
  options: {
    ...common("run", ...TARGET, "in-flight", "lock-wait", ...NOVA_DATABASES, ...WATCH),
    "nova-bm-db": word(
      "Of a run that moves machines of nova-baremetal between hosts: nova_bm, given the same way",
    ),
    "fence-command": word(
      "If the spare's BMC is dead: program that exits with 0 once the spare, its argument, is off",
    ),
    ...meaning("leave-nova", "Remove Ironic's rows alone, with no look at nova-compute"),
    all: flag("Every machine of this run"),
    ...nodeOption("This machine"),
    plan: flag("Only show what would be removed"),
    ...common("after-finish", "no-window", "yes", "key-file"),
    ...listOptionsWithoutAll,
  },
  exclude: ["nova-db leave-nova"],
  examples: ["$0 rollback --run m1 --ironic-db conf:/etc/ironic/ironic.conf --all --plan"],
};

export interface RehearseArgs extends Voice, FormatOptions, RehearseWords {
  readonly yes: boolean;
}

export const rehearseOptions: Declared = {
  command: "rehearse",
  describe:
    "Apply, verify, roll back, apply and verify on restored copies of Ironic's and Nova's databases",
  options: {
    ...common("run"),
    ...meaning(
      "ironic-db",
      "A copy of Ironic's database, restored from a backup; it is written to",
    ),
    ...meaning("nova-db", "The same of Nova's database, for a plan that changes its rows"),
    ...meaning("nova-api-db", "The same of nova_api's, for a plan that changes flavors there"),
    "skip-blocked": flag("As for apply: leave blocked machines out"),
    staged: flag("As for apply: load in maintenance"),
    "power-max-age": number("As for apply: minutes since the plan's oldest power reading", {
      default: POWER_MAX_AGE,
    }),
    ...common("yes", "key-file"),
    ...listOptionsWithoutAll,
  },
  examples: [
    "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url",
    "$0 rehearse --run m1 --ironic-db file:/root/ironic-copy.url --nova-db file:/root/nova-copy.url --yes",
  ],
};
