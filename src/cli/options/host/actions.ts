import {
  argument,
  type Declared,
  flag,
  list,
  number,
  type OptionTable,
  perHost,
  program,
  string,
} from "../declared.ts";
import { common, listOptions, listOptionsWithoutAll, needed } from "../shared.ts";

const NOVA_BM = {
  "nova-bm-db": string("nova_bm: URL without password, file:PATH, env:NAME or conf:PATH"),
};

const NOVA = { ...needed("nova-db"), ...common("nova-api-db") };
/** For the instance of a node. */
const IRONIC = common(
  ...(["ironic-db", "ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout"] as const),
);

const RUN = common("run");
const WHERE = {
  from: string("Compute host to move machines from"),
  to: list(
    "Compute host to move machines to. Several hosts (comma-separated or repeated) share the machines",
    { ...{ demandOption: true, form: [/[^,]/, "the name of a compute host"] } },
  ),
};

const PLANNING = {
  site: string("Site document with accepted findings"),
  "force-aggregates": flag("Move machines between hosts in different aggregates"),
};

/** For machines of nova-baremetal, which boot from this host afterwards. */
const BOOT = {
  "tftp-root": string("With --nova-bm-db: TFTP tree of this host, which receives the machines"),
  "tftp-from": perHost("DIR", "a copy of the TFTP tree of the old host. Repeatable"),
  "root-uuid": list("NODE=UUID: root filesystem of a machine without a boot file. Repeatable", {
    form: [/^[\da-f-]{36}=[\da-f-]{36}$/i, "NODE=UUID, with the node's uuid"],
  }),
  "my-ip": string("Address of this host for booting machines, set on Neutron ports"),
};

const PURGED = { "queue-purged": flag("You confirm that the message queue compute.HOST is empty") };

const CHANGES = ["extend", "status", "revert"];
const ACTING = common("no-window", "yes");
const EXAMPLE = "--nova-db conf:/etc/nova/nova.conf";

const NOVA_CONF = {
  "nova-conf": string(
    "nova.conf of these hosts, for service_down_time and the [baremetal] settings",
  ),
};

/** The time after which a nova-compute is down. */
const DOWN = {
  ...NOVA_CONF,
  "service-down-time": number("Seconds without a report before a nova-compute is down (60)", {
    above: 0,
  }),
};

/** Options of an agent, also in its systemd unit. */
export const AGENT: OptionTable = {
  host: string("Compute host that holds the lease: [DEFAULT]host in its nova.conf", {
    ...{ demandOption: true, form: [/^[!-~]+$/, "the name of a compute host"] },
  }),
  ...needed("nova-bm-db"),
  ...needed("nova-db"),
  interval: number("Seconds between two heartbeats", { default: 10, above: 0 }),
  ttl: number("Seconds without a heartbeat after which another host may fence this host", {
    default: 60,
  }),
  "my-ip": string("Address of this host for booting machines, published with the lease"),
  "tftp-root": string("TFTP tree of this host, to publish the boot files of its machines"),
  "on-fenced": program("Program that runs once if this host is fenced, to stop nova-compute"),
  take: flag("Take over the machines of dead hosts. Requires --run"),
  run: string("With --take: folder for the agent's runs, one for each takeover"),
  "fence-command": program("With --take: program that fences a dead host (exit status 0: fenced)"),
  "tftp-from": perHost("DIR", "a copy of the TFTP tree of another host. Repeatable"),
  ...DOWN,
  // For Glance images and Neutron ports. The login is in OS_*.
  ...common("os-cloud", "os-cacert", "insecure", "api-timeout"),
};

/** Options of rollback in a run of `host`. */
export const HOSTS_BACK: OptionTable = {
  ...{ ...RUN, ...NOVA, ...IRONIC, ...ACTING, ...listOptionsWithoutAll },
  ...{ all: {}, node: {}, plan: {} },
};

/** In the order of help. */
export const HOST = {
  list: {
    command: "host list",
    describe: "List the machines of each compute host, and whether the host is up",
    options: { ...needed("nova-db"), ...NOVA_BM, ...DOWN, ...listOptions },
    examples: [`$0 host list ${EXAMPLE}`],
  },
  plan: {
    command: "host plan",
    describe: "Plan the move of machines to other hosts, without writing to Nova",
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC },
      node: list("Uuid of a machine to move. Repeatable"),
      ...{ ...WHERE, ...PLANNING, ...DOWN, ...BOOT, ...listOptions },
    },
    ...{ exclude: ["from node"], oneOf: ["from node"], differ: ["from", "to"] },
    examples: [`$0 host plan --run h1 ${EXAMPLE} --from A --to B`],
  },
  move: {
    command: "host move",
    describe: "Move the machines of the plan. To resume, run the command again",
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...BOOT, ...NOVA_CONF, ...ACTING },
    examples: ["$0 host move --run h1"],
  },
  schema: {
    command: "host schema <change>",
    describe: "Add the lease tables and columns to nova_bm, remove them, or show them",
    positional: [argument("change", "extend adds them, revert removes them", { choices: CHANGES })],
    options: { ...needed("nova-bm-db"), ...common("yes") },
    examples: ["$0 host schema extend --nova-bm-db conf:/etc/nova/nova.conf"],
  },
  agent: {
    command: "host agent",
    describe: "Renew the lease of a compute host while its nova-compute reports",
    options: { ...AGENT, "print-unit": flag("Only print a systemd unit for the agent") },
    implies: ["take: run", "run fence-command: take"],
    examples: [
      "$0 host agent --host A --nova-bm-db conf:/etc/nova/nova.conf --nova-db conf:/etc/nova/nova.conf",
    ],
  },
  takeover: {
    command: "host takeover",
    describe: "Fence a dead host and move all its machines",
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC },
      ...{ ...WHERE, from: { ...WHERE.from, demandOption: true } },
      ...{ ...PLANNING, ...DOWN, ...BOOT },
      "fence-command": program("Program that fences the dead host (exit status 0: host is fenced)"),
      "confirmed-down": flag("You confirm that this host is down and remains down"),
      settle: number("Seconds to wait for requests in progress"),
      plan: flag("Only show the planned moves"),
      ...{ ...ACTING, ...listOptions },
    },
    differ: ["from", "to"],
    examples: [`$0 host takeover --run h2 ${EXAMPLE} --from A --to B`],
  },
  readmit: {
    command: "host readmit <compute>",
    describe: "Allow a fenced host to serve machines again",
    positional: [argument("compute", "the fenced compute host")],
    options: { ...{ ...RUN, ...NOVA_BM, ...needed("nova-db"), ...PURGED, ...ACTING } },
    examples: ["$0 host readmit A --run h2 --queue-purged"],
  },
  verify: {
    command: "host verify",
    describe: "Compare each machine's host with the plan. Check that old hosts do not report",
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...PURGED, ...listOptions },
    examples: ["$0 host verify --run h1"],
  },
} as const satisfies { readonly [action: string]: Declared };
