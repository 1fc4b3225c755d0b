import {
  argument,
  type Declared,
  flag,
  number,
  type OptionTable,
  perHost,
  word,
  words,
} from "../declared.ts";
import { listOptions, listOptionsWithoutAll } from "../format.ts";
import { common, needed } from "../shared.ts";
import { AGENT, DOWN, NOVA_BM, NOVA_CONF } from "./leases.ts";

const NOVA = { ...needed("nova-db"), ...common("nova-api-db") };
/** To ask nodes for the instance that they name. */
const IRONIC = common(
  ...(["ironic-db", "ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout"] as const),
);
const RUN = common("run");
const WHERE = {
  from: word("Compute host whose machines move"),
  to: words("Compute host that takes them. With several, by a comma or repeated, they share them", {
    ...{ demandOption: true, form: [/[^,]/, "the name of a compute host"] },
  }),
};
const PLANNING = {
  site: word("Site document: findings it accepts"),
  "force-aggregates": flag("Move although the hosts are in different aggregates"),
};
/** Of machines of nova-baremetal: their boot on the new host, which is this one. */
const BOOT = {
  "tftp-root": word("With --nova-bm-db: TFTP tree of this host, which takes the machines"),
  "tftp-from": words(
    "HOST=DIR: a copy of the TFTP tree of the old host. Repeatable",
    perHost("DIR"),
  ),
  "root-uuid": words(
    "NODE=UUID: root filesystem of a machine whose boot file is lost. Repeatable",
    {
      form: [
        /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}=[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
        "NODE=UUID, with the uuid of the node",
      ],
    },
  ),
  "my-ip": word("Address of this host that machines boot from, for Neutron's ports"),
};
const PURGED = {
  "queue-purged": flag("The operator's word that compute.HOST was emptied by hand"),
};
const CHANGES = ["extend", "status", "revert"];
const ACTING = common("no-window", "yes");
const EXAMPLE = "--nova-db conf:/etc/nova/nova.conf";

/** The options of rollback in a run of `host`. */
export const HOSTS_BACK: OptionTable = {
  ...{ ...RUN, ...NOVA, ...IRONIC, ...ACTING, ...listOptionsWithoutAll },
  ...{ all: {}, node: {}, plan: {} },
};

/** The commands of `host`, in the order of help. */
export const HOST = {
  list: {
    command: "host list",
    describe: "List the machines of each compute host, and whether the host is up",
    options: { ...needed("nova-db"), ...NOVA_BM, ...DOWN, ...listOptions },
    examples: [`$0 host list ${EXAMPLE}`],
  },
  plan: {
    command: "host plan",
    describe: "Plan a move of machines to other hosts; writes nothing to Nova",
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC },
      node: words("Move this machine: its uuid. Repeatable"),
      ...{ ...WHERE, ...PLANNING, ...DOWN, ...BOOT, ...listOptions },
    },
    ...{ exclude: ["from node"], oneOf: ["from node"], differ: ["from", "to"] },
    examples: [`$0 host plan --run h1 ${EXAMPLE} --from A --to B`],
  },
  move: {
    command: "host move",
    describe: "Perform the plan, or resume it",
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...BOOT, ...NOVA_CONF, ...ACTING },
    examples: ["$0 host move --run h1"],
  },
  schema: {
    command: "host schema <change>",
    describe: "Add the tables and columns of leases to nova_bm, remove them, or show them",
    positional: [argument("change", "extend adds them, revert removes them", { choices: CHANGES })],
    options: { ...needed("nova-bm-db"), ...common("yes") },
    examples: ["$0 host schema extend --nova-bm-db conf:/etc/nova/nova.conf"],
  },
  agent: {
    command: "host agent",
    describe: "Keep the lease of a compute host while its nova-compute reports",
    options: { ...AGENT, "print-unit": flag("Only print a unit of systemd that runs it") },
    want: ["take: run", "run fence-command: take"],
    examples: [
      "$0 host agent --host A --nova-bm-db conf:/etc/nova/nova.conf --nova-db conf:/etc/nova/nova.conf",
    ],
  },
  takeover: {
    command: "host takeover",
    describe: "Fence a dead host, and move all its machines",
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC },
      ...{ ...WHERE, from: { ...WHERE.from, demandOption: true } },
      ...{ ...PLANNING, ...DOWN, ...BOOT },
      "fence-command": word("Program that keeps the dead host from coming back; 0 is yes"),
      "confirmed-down": flag("The operator's word that this host is down and stays down"),
      settle: number("Seconds to wait for requests in progress"),
      plan: flag("Only show what would be done"),
      ...{ ...ACTING, ...listOptions },
    },
    differ: ["from", "to"],
    examples: [`$0 host takeover --run h2 ${EXAMPLE} --from A --to B`],
  },
  readmit: {
    command: "host readmit <compute>",
    describe: "Let a fenced host come back",
    positional: [argument("compute", "the compute host that comes back")],
    options: {
      ...{ ...RUN, ...NOVA_BM, ...needed("nova-db"), ...PURGED, ...ACTING },
    },
    examples: ["$0 host readmit A --run h2 --queue-purged"],
  },
  verify: {
    command: "host verify",
    describe: "Compare the host of each machine with the plan, and check that old hosts are silent",
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...PURGED, ...listOptions },
    examples: ["$0 host verify --run h1"],
  },
} as const satisfies { readonly [action: string]: Declared };
