import type { PlanWords } from "../../migrate/plan/plan.ts";
import type { NovaArgs } from "../commands/node/nova-options.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, word } from "./declared.ts";
import { matchOption } from "./format.ts";
import { common, meaning, NOVA_DATABASES, NOVA_ROWS, TARGET } from "./shared.ts";

export interface PlanArgs extends Voice, NovaArgs, PlanWords {
  readonly diff?: string;
  readonly allRows: boolean;
  readonly match?: readonly string[];
  readonly conductorIpmitool?: string;
  readonly detailedExitcode: boolean;
}

export const planOptions: Declared = {
  command: "plan",
  describe: "Show what apply would load; writes to no database",
  options: {
    ...common("run", ...TARGET),
    ...meaning("ironic-release", "Which of the releases it is, where several have one schema"),
    ...common(...NOVA_DATABASES, ...NOVA_ROWS),
    site: word("Your decisions: YAML or JSON"),
    "allow-pairing": flag("Source and target may be of different releases; written into the plan"),
    "beside-others": flag(
      "Ironic's database holds nodes of others and is the right one; written into the plan",
    ),
    ...common("diff", "all-rows"),
    ...matchOption,
    "max-unreachable": number(
      "Load machines whose BMC does not answer, if they are no more than this",
      { default: 0 },
    ),
    ...common("conductor-ipmitool"),
    "propose-site": word(
      "Write a first site document to this new file: what is known, and what to decide",
    ),
    "placement-db": word("Placement's database, for --propose-site: it knows resource classes"),
    "record-power": flag("Write the power measured into power_state, which is NULL otherwise"),
    "detailed-exitcode": flag("Exit 2 when there is something to load"),
    ...common("key-file"),
  },
  exclude: ["flavor-images=keep flavor-images=delete: deploy-kernel deploy-ramdisk"],
  want: [
    `nova-api-db ${NOVA_ROWS.join(" ")}: nova-db`,
    ...["deploy-kernel flavor-images=point: deploy-ramdisk", "deploy-ramdisk: deploy-kernel"],
  ],
  examples: [
    "$0 plan --run m1 --ironic-db conf:/etc/ironic/ironic.conf --site site.yaml",
    "$0 plan --run m1 --os-cloud admin --site site.yaml",
  ],
};
