import { type Declared, flag, number, string } from "./declared.ts";
import { matchOption } from "./format.ts";
import { common, meaning, NOVA_DATABASES, type SHARED, TARGET } from "./shared.ts";

/** Options for changes of Nova's rows. */
const NOVA_ROWS = [
  ...["compute-host", "flavor-images", "deploy-kernel", "deploy-ramdisk", "flavor"],
] as const satisfies readonly (keyof typeof SHARED)[];

export const planOptions: Declared = {
  command: "plan",
  describe: "Show the changes that apply would make, without writing to any database",
  options: {
    ...common("run", ...TARGET),
    ...meaning("ironic-release", "Release of Ironic, if several releases have the same schema"),
    ...common(...NOVA_DATABASES, ...NOVA_ROWS),
    site: string("Your decisions (YAML or JSON)"),
    "allow-pairing": flag("Allow a source and target of different releases. Recorded in the plan"),
    "allow-other-nodes": flag("Allow other nodes in Ironic's database. Recorded in the plan"),
    ...common("diff", "all-rows"),
    ...matchOption,
    "max-unreachable": number("Maximum number of machines to load without a BMC response", {
      default: 0,
    }),
    ...common("conductor-ipmitool"),
    "propose-site": string("Write an initial site document with known values to this new file"),
    "placement-db": string("With --propose-site: Placement's database, for resource classes"),
    "record-power": flag("Write the measured power state to power_state, which is NULL by default"),
    "detailed-exitcode": flag("Exit with status 2 if there is anything to load"),
    ...common("key-file"),
  },
  exclude: ["flavor-images=keep flavor-images=delete: deploy-kernel deploy-ramdisk"],
  needed: [
    `nova-api-db ${NOVA_ROWS.join(" ")}: nova-db`,
    ...["deploy-kernel flavor-images=point: deploy-ramdisk", "deploy-ramdisk: deploy-kernel"],
  ],
  examples: [
    "$0 plan --run m1 --ironic-db conf:/etc/ironic/ironic.conf --site site.yaml",
    "$0 plan --run m1 --os-cloud admin --site site.yaml",
  ],
};
