import { VERDICTS } from "../../model/power.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import { type Declared, flag, list, number, perHost, string } from "./declared.ts";
import {
  common,
  listOptions,
  matchOption,
  meaning,
  NOVA_DATABASES,
  nodeOption,
  type SHARED,
  TARGET,
} from "./shared.ts";

const PACE = { inFlight: 256, rate: 400, deadline: 60 } as const;

/** Options for changes of Nova's rows. */
const NOVA_ROWS = [
  ...["compute-host", "flavor-images", "deploy-kernel", "deploy-ramdisk", "flavor"],
] as const satisfies readonly (keyof typeof SHARED)[];

export const PLANNING = {
  extract: {
    command: "extract",
    describe: "Read nova_bm, Nova and nova.conf into the run's snapshot, without database writes",
    options: {
      ...common("run", "nova-bm-db"),
      "nova-db": string("Nova's database, in the same form"),
      "nova-conf": perHost("FILE", "nova.conf of a compute host. Repeat for each host"),
      "tftp-root": perHost("DIR", "TFTP tree of a compute host, or a copy. Repeat for each host"),
      ...common("key-file"),
      ...matchOption,
    },
    epilogue: `Ironic releases that \`plan\` supports: ${releaseNames().join(", ")}`,
    examples: [
      "$0 extract --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --nova-conf /etc/nova/nova.conf",
    ],
  },
  power: {
    command: "power",
    describe: "Read the power state of every machine from its BMC, without changing it",
    options: {
      ...common("run"),
      only: list("Read only machines that failed, or only machines with this verdict", {
        ...{
          choices: ["failed", ...Object.keys(VERDICTS).filter((verdict) => verdict !== "ok")],
          defaultDescription: "all machines",
        },
      }),
      ...nodeOption("Read only this machine"),
      host: list("Read only machines of this nova-compute (service_host)"),
      site: string("Site document, as in plan. Later power commands of this run reuse it"),
      ...meaning("ironic-release", "Release of the conductors (default: from the plan, or juno)"),
      ...common("conductor-ipmitool"),
      "in-flight": number("Number of BMCs to read concurrently", {
        default: PACE.inFlight,
        least: 1,
        most: 512,
      }),
      rate: number("New sessions per second", { default: PACE.rate, above: 0 }),
      deadline: number(
        "Maximum seconds for one BMC (both attempts), or for a host of virtual machines",
        { default: PACE.deadline, above: 0 },
      ),
      list: flag("List every machine, not only machines with a problem"),
      ...common("key-file"),
      ...listOptions,
    },
    examples: [
      "$0 power --run m1",
      "$0 power --run m1 --only failed -f csv",
      "$0 power --run m1 --only wrong-password --host compute-1",
    ],
  },
  plan: {
    command: "plan",
    describe: "Show the changes that apply would make, without writing to any database",
    options: {
      ...common("run", ...TARGET),
      ...meaning("ironic-release", "Release of Ironic, if several releases have the same schema"),
      ...common(...NOVA_DATABASES, ...NOVA_ROWS),
      site: string("Your decisions (YAML or JSON)"),
      "allow-pairing": flag(
        "Allow a source and target of different releases. Recorded in the plan",
      ),
      "allow-other-nodes": flag("Allow other nodes in Ironic's database. Recorded in the plan"),
      ...common("diff", "all-rows"),
      ...matchOption,
      "max-unreachable": number("Maximum number of machines to load without a BMC response", {
        default: 0,
      }),
      ...common("conductor-ipmitool"),
      "propose-site": string("Write an initial site document with known values to this new file"),
      "placement-db": string("With --propose-site: Placement's database, for resource classes"),
      "record-power": flag(
        "Write the measured power state to power_state, which is NULL by default",
      ),
      "detailed-exitcode": flag("Exit with status 2 if there is anything to load"),
      ...common("key-file"),
    },
    exclude: ["flavor-images=keep flavor-images=delete: deploy-kernel deploy-ramdisk"],
    implies: [
      `nova-api-db ${NOVA_ROWS.join(" ")}: nova-db`,
      ...["deploy-kernel flavor-images=point: deploy-ramdisk", "deploy-ramdisk: deploy-kernel"],
    ],
    examples: [
      "$0 plan --run m1 --ironic-db conf:/etc/ironic/ironic.conf --site site.yaml",
      "$0 plan --run m1 --os-cloud admin --site site.yaml",
    ],
  },
} satisfies { readonly [command: string]: Declared };
