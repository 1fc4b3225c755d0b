import { flag, number, type OptionTable, word, words } from "../declared.ts";
import { listOptionsWithoutAll } from "../format.ts";
import { common, meaning } from "../shared.ts";

/** What `node` does by one of its words. */
interface NodeAction {
  readonly describe: string;
  /** Options it does not do without. */
  readonly needs: readonly string[];
  readonly options: OptionTable;
}

const IRONIC = common("ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout");

const RUN = meaning("run", "Folder of the run, by which it is taken back; list does without");
const ARG = { requiresArg: true };
const PACE = {
  "in-flight": number("Machines under way at once (4)", {
    requiresArg: true,
  }),
};
const NOVA = {
  nova: flag("A server of Nova rather than an allocation of Ironic"),
  flavor: word("With --nova: id or name of the flavor; it asks for the machine's resource class"),
  image: word(
    "With --nova: id or name of an image (image_source of instance_info, where that is an id)",
  ),
  port: words("With --nova: uuid of a Neutron port, for each that its cards have. Repeatable"),
  "accept-network-cut": flag(
    "With --nova: machines with network_interface neutron too, cut off until their ports are bound again",
  ),
  watch: number("With --nova: seconds to look at each machine afterwards (120)", {
    requiresArg: true,
  }),
};

/** What a list of machines that run already takes. */
export const ADOPTABLE = {
  adoptable: flag("Machines that are active, free, of a resource class, and in service"),
  all: flag("The others too, each with why not; of spares: the nearest that does not fit"),
  ...meaning("ironic-db", "With --adoptable: Ironic's database, in place of its API"),
  ...IRONIC,
  ...listOptionsWithoutAll,
};

/** How a switchover is done, whoever asks for it. */
export const SWITCHING = {
  "soft-timeout": number("Seconds for the source's system to shut down (600)", ARG),
  "proof-interval": number("Seconds between two reads that prove it is off (65)", ARG),
  "proof-timeout": number("Seconds for that proof, from the first hard power off (300)", ARG),
  "fence-command": word("A program that ends with 0 once the source, its argument, is off"),
  identical: word("A document in place of mappings/identical.json"),
  ...meaning("nova-db", "The instance is Nova's: change its row here"),
  placement: flag("With --nova-db: move its allocation in Placement too"),
  "leave-nova": flag("The instance is Nova's: show the commands for its rows at the end"),
};

/** Every word of `node`, in the order help tells them. */
export const NODE_ACTIONS = {
  list: {
    describe:
      "with --adoptable: which machines run already and have no server record; with --spares: which nodes can take the place of machines that boot from volumes",
    needs: [],
    options: {
      spares: flag("Nodes in manageable or enroll, by the active machines they are identical to"),
      need: number("With --spares: exit 2 where a machine has fewer", { requiresArg: true }),
      identical: word("With --spares: a document in place of mappings/identical.json"),
      ...ADOPTABLE,
    },
  },
  manage: {
    describe:
      "give a machine, or those of --from, its server record: an allocation of Ironic, or a server of Nova",
    needs: ["run"],
    options: {
      ...RUN,
      from: word("Machines: CSV with node,name on its first line, or a list in YAML"),
      description: word("Description of the record"),
      property: words("KEY=VALUE of its record. Repeatable"),
      "availability-zone": word("Zone of the record; with --nova also ZONE:HOST:NODE"),
      "dry-run": flag("Only show what would be done"),
      ...{ ...PACE, ...NOVA, ...IRONIC, ...listOptionsWithoutAll },
    },
  },
  unmanage: {
    describe:
      "delete the allocation, or the server of Nova, that this run made; the machine stays active, on or off as it is",
    needs: ["run", "machine"],
    options: {
      ...{ ...RUN, ...PACE, ...IRONIC },
      ...{ ...common("yes"), ...listOptionsWithoutAll },
    },
  },
  switchover: {
    describe:
      "let the instance of a machine that boots from volumes continue on a spare; DST or the first spare that fits",
    needs: ["run", "machine"],
    options: {
      ...RUN,
      destination: word("The spare, by uuid or name; as the second node"),
      "dry-run": flag("Only show the steps, and every difference of hardware"),
      "source-confirmed-off": flag("Somebody saw that the source is off, though its BMC is dead"),
      ...SWITCHING,
      ...IRONIC,
      ...listOptionsWithoutAll,
    },
  },
} as const satisfies { readonly [action: string]: NodeAction };
