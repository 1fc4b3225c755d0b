import { argument, type Declared, flag, number, word, words } from "../declared.ts";
import { listOptionsWithoutAll } from "../format.ts";
import { common, meaning } from "../shared.ts";

const IRONIC = common("ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout");

const RUN = meaning("run", "The run's folder, with the journal that rollback needs");
const PACE = {
  "in-flight": number("Machines in progress at once (4)", { least: 1, whole: true }),
};
const NOVA = {
  nova: flag("A server of Nova rather than an allocation of Ironic"),
  flavor: word("With --nova: id or name of the flavor; it requests the machine's resource class"),
  image: word(
    "With --nova: id or name of an image (image_source of instance_info, if that is an id)",
  ),
  port: words("With --nova: uuid of a Neutron port, for each port of the machine. Repeatable"),
  "accept-network-cut": flag(
    "With --nova: machines with network_interface neutron too, cut off until their ports are bound again",
  ),
  watch: number("With --nova: seconds to watch each machine afterwards (120)"),
};

/** Options of the list of adoptable machines. */
const ADOPTABLE = {
  adoptable: flag("Machines that are active, free, of a resource class, and in service"),
  all: flag("The others too, each with the reason; of spares: the nearest that does not fit"),
  ...meaning("ironic-db", "With --adoptable: Ironic's database, in place of its API"),
  ...IRONIC,
  ...listOptionsWithoutAll,
};

/** How a switchover is done, by the command or the service. */
export const SWITCHING = {
  options: {
    "soft-timeout": number("Seconds for the source's system to shut down (600)"),
    "proof-interval": number("Seconds between two reads that prove it is off (65)"),
    "proof-timeout": number("Seconds for that proof, from the first hard power off (300)"),
    "fence-command": word("A program that exits with 0 once the source, its argument, is off"),
    identical: word("A document in place of mappings/identical.json"),
    ...meaning("nova-db", "The instance is Nova's: change its row here"),
    placement: flag("With --nova-db: move its allocation in Placement too"),
    "leave-nova": flag("The instance is Nova's: show the commands for its rows at the end"),
  },
  exclude: ["fence-command source-confirmed-off", "nova-db leave-nova"],
  want: ["placement: nova-db"],
} as const satisfies Partial<Declared>;

const MACHINE = argument("machine", "uuid or name of the node");

const SPARES = {
  spares: flag("Nodes in manageable or enroll, by the active machines they are identical to"),
  need: number("With --spares: exit 2 if a machine has fewer", { least: 0, whole: true }),
  identical: word("With --spares: a document in place of mappings/identical.json"),
};
const LIST = { ...SPARES, ...ADOPTABLE };

/** The commands of `node`, in the order of help. */
export const NODE = {
  list: {
    command: "node list",
    describe:
      "List machines that run already and have no server record (--adoptable), or spares of machines that boot from volumes (--spares)",
    options: LIST,
    exclude: ["adoptable spares", "ironic-db ironic-url"],
    oneOf: ["adoptable spares"],
    want: ["need identical: spares", "ironic-db: adoptable"],
    examples: [
      "$0 node list --adoptable --os-cloud lab",
      "$0 node list --adoptable --all -f json",
      "$0 node list --spares --need 1 --os-cloud lab",
    ],
  },
  manage: {
    command: "node manage [machine] [name]",
    describe:
      "Give a machine that runs already, or those of --from, its server record: an allocation of Ironic, or a server of Nova",
    positional: [MACHINE, argument("name", "name of the server")],
    options: {
      ...RUN,
      from: word("Machines: CSV with node,name on its first line, or a list in YAML"),
      description: word("Description of the record"),
      property: words("KEY=VALUE of its record. Repeatable", { form: [/^[^=]+=/, "KEY=VALUE"] }),
      "availability-zone": word("Zone of the record; with --nova also ZONE:HOST:NODE"),
      "dry-run": flag("Only show what would be done"),
      ...{ ...PACE, ...NOVA, ...IRONIC, ...listOptionsWithoutAll },
    },
    exclude: ["from: machine description availability-zone property port"],
    oneOf: ["machine from", "name from"],
    fixes: { name: "Give the node and the name of its server record, or --from FILE." },
    want: ["nova: flavor", "flavor image port accept-network-cut watch: nova"],
    examples: [
      "$0 node manage n-1 web-1 --run s1 --os-cloud lab",
      "$0 node manage --from machines.csv --run s2 --os-cloud lab --dry-run",
    ],
  },
  unmanage: {
    command: "node unmanage <machine>",
    describe:
      "Delete the allocation or the server of Nova that this run made; the machine stays active, on or off as it is",
    positional: [MACHINE],
    options: { ...RUN, ...PACE, ...IRONIC, ...common("yes"), ...listOptionsWithoutAll },
    examples: ["$0 node unmanage n-1 --run s1 --os-cloud lab"],
  },
  switchover: {
    command: "node switchover <machine> [name]",
    describe:
      "Let the instance of a machine that boots from volumes continue on a spare: on the one named, or the first that fits",
    positional: [MACHINE, argument("name", "the spare, in place of --destination")],
    options: {
      ...RUN,
      destination: word("The spare, by uuid or name"),
      "dry-run": flag("Only show the steps, and every difference of hardware"),
      "source-confirmed-off": flag("The operator's word that the source is off: its BMC is dead"),
      ...SWITCHING.options,
      ...IRONIC,
      ...listOptionsWithoutAll,
    },
    exclude: [...SWITCHING.exclude, "name destination"],
    want: SWITCHING.want,
    examples: ["$0 node switchover n-1 s-1 --run o1 --os-cloud lab --dry-run"],
  },
} as const satisfies { readonly [action: string]: Declared };

/** The same by the names that the specifications gave them, which help does not list. */
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
    want: [...SWITCHING.want, "need all: spares"],
  },
  adoptable: {
    ...{ command: "adoptable", describe: false, options: ADOPTABLE },
    exclude: ["ironic-db ironic-url"],
  },
  manage: { ...NODE.manage, command: "manage [machine] [name]", describe: false },
  unmanage: { ...NODE.unmanage, command: "unmanage <machine>", describe: false },
} as const satisfies { readonly [action: string]: Declared };
