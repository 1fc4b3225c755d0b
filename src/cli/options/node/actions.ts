import { argument, type Declared, flag, list, number, program, string } from "../declared.ts";
import { common, listOptionsWithoutAll, meaning } from "../shared.ts";

const IRONIC = common("ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout");

const RUN = meaning("run", "The run's folder, with the journal for rollback");
const PACE = {
  "in-flight": number("Maximum number of concurrent machines (4)", { least: 1, integer: true }),
};
const NOVA = {
  nova: flag("Create servers in Nova instead of allocations in Ironic"),
  flavor: string("With --nova: flavor (id or name) that requests the machine's resource class"),
  image: string("With --nova: image (id or name, default: the id in instance_info.image_source)"),
  port: list("With --nova: uuid of a Neutron port. Repeat for each port of the machine"),
  "accept-network-cut": flag(
    "With --nova: accept a network interruption until Neutron binds the ports again",
  ),
  watch: number("With --nova: seconds to watch each machine after the change (120)"),
};

/** Options of a switchover, for the command and the service. */
export const SWITCHING = {
  options: {
    "soft-timeout": number("Seconds to wait until the source has shut down (600)"),
    "proof-interval": number("Seconds between two readings that confirm power off (65)"),
    "proof-timeout": number("Maximum seconds from the first hard power off to confirmation (300)"),
    "fence-command": program(
      "Program that exits with status 0 when the source (its argument) is off",
    ),
    identical: string("Document to use instead of mappings/identical.json"),
    ...meaning("nova-db", "For a Nova instance: Nova's database, to change the instance's row"),
    placement: flag("With --nova-db: also move the instance's allocation in Placement"),
    "leave-nova": flag("For a Nova instance: at the end, print the commands for its rows"),
  },
  exclude: ["fence-command source-confirmed-off", "nova-db leave-nova"],
  implies: ["placement: nova-db"],
} as const satisfies Partial<Declared>;

const SPARES = {
  spares: flag("List nodes in manageable or enroll for active machines with identical hardware"),
  need: number("Minimum spares per machine (otherwise exit status 2)", { least: 0, integer: true }),
  identical: string("With --spares: document to use instead of mappings/identical.json"),
};
const ADOPTABLE = {
  adoptable: flag("List active, unallocated machines in service that have a resource class"),
  all: flag("Also list excluded machines with the reason. For spares: the closest mismatch"),
  ...meaning("ironic-db", "With --adoptable: Ironic's database instead of its API"),
  ...IRONIC,
  ...listOptionsWithoutAll,
};

const MACHINE = argument("machine", "uuid or name of the node");

/** In the order of help. */
export const NODE = {
  list: {
    command: "node list",
    describe: "List running machines without a server record, or spares for machines",
    options: { ...SPARES, ...ADOPTABLE },
    exclude: ["adoptable spares", "ironic-db ironic-url"],
    oneOf: ["adoptable spares"],
    implies: ["need identical: spares", "ironic-db: adoptable"],
    examples: [
      "$0 node list --adoptable --os-cloud lab",
      "$0 node list --adoptable --all -f json",
      "$0 node list --spares --need 1 --os-cloud lab",
    ],
  },
  manage: {
    command: "node manage [machine] [name]",
    describe: "Create server records for running machines: Ironic allocations or Nova servers",
    positional: [MACHINE, argument("name", "name of the server")],
    options: {
      ...RUN,
      from: string("Machines as CSV (first line: node,name) or as a YAML list"),
      description: string("Description of the server record"),
      property: list("Property of the server record (KEY=VALUE). Repeatable", {
        form: [/^[^=]+=/, "KEY=VALUE"],
      }),
      "availability-zone": string(
        "Availability zone of the record. With --nova also ZONE:HOST:NODE",
      ),
      "dry-run": flag("Only show the changes"),
      ...{ ...PACE, ...NOVA, ...IRONIC, ...listOptionsWithoutAll },
    },
    exclude: ["from: machine description availability-zone property port"],
    oneOf: ["machine from", "name from"],
    fixes: { name: "Specify the node and the name of its server record, or --from FILE." },
    implies: ["nova: flavor", "flavor image port accept-network-cut watch: nova"],
    examples: [
      "$0 node manage n-1 web-1 --run s1 --os-cloud lab",
      "$0 node manage --from machines.csv --run s2 --os-cloud lab --dry-run",
    ],
  },
  unmanage: {
    command: "node unmanage <machine>",
    describe: "Delete the server record that this run created. The machine itself is not changed",
    positional: [MACHINE],
    options: { ...RUN, ...PACE, ...IRONIC, ...common("yes"), ...listOptionsWithoutAll },
    examples: ["$0 node unmanage n-1 --run s1 --os-cloud lab"],
  },
  switchover: {
    command: "node switchover <machine> [name]",
    describe: "Move the instance of a machine that boots from volumes to a spare",
    positional: [MACHINE, argument("name", "the spare (same as --destination)")],
    options: {
      ...RUN,
      destination: string("Uuid or name of the spare"),
      "dry-run": flag("Only show the steps and every hardware difference"),
      "source-confirmed-off": flag("You confirm that the source is off (if its BMC is down)"),
      ...SWITCHING.options,
      ...IRONIC,
      ...listOptionsWithoutAll,
    },
    exclude: [...SWITCHING.exclude, "name destination"],
    implies: SWITCHING.implies,
    examples: ["$0 node switchover n-1 s-1 --run o1 --os-cloud lab --dry-run"],
  },
} as const satisfies { readonly [action: string]: Declared };

/** Hidden aliases from the specifications. */
export const ALIASES = {
  switchover: {
    command: "node-switchover [machine] [name]",
    describe: false,
    positional: NODE.switchover.positional,
    options: {
      ...{ ...SPARES, all: ADOPTABLE.all, ...NODE.switchover.options },
      run: { ...RUN.run, demandOption: false },
    },
    exclude: [...NODE.switchover.exclude, "spares: machine destination dry-run fence-command"],
    oneOf: ["machine spares", "run spares"],
    implies: [...SWITCHING.implies, "need all: spares"],
  },
  adoptable: {
    ...{ command: "adoptable", describe: false, options: ADOPTABLE },
    exclude: ["ironic-db ironic-url"],
  },
  manage: { ...NODE.manage, command: "manage [machine] [name]", describe: false },
  unmanage: { ...NODE.unmanage, command: "unmanage <machine>", describe: false },
} as const satisfies { readonly [action: string]: Declared };
