import { flag, number, type OptionTable, word, words } from "../declared.ts";
import { listOptions, listOptionsWithoutAll } from "../format.ts";
import { common, meaning } from "../shared.ts";
import { DOWN, LEASE_ACTIONS, NOVA_BM, NOVA_CONF } from "./leases.ts";

/** What `host` does by one of its words. */
interface HostAction {
  readonly describe: string;
  /** Options it does not do without. */
  readonly needs: readonly string[];
  readonly options: OptionTable;
}

const NOVA = common("nova-db", "nova-api-db");
/** Where nodes can be asked for the instance they name. */
const IRONIC = common(
  ...(["ironic-db", "ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout"] as const),
);
const RUN = meaning("run", "The run's folder; all but list want it");
const WHERE = {
  from: word("Compute host whose machines go"),
  to: words("Compute host that takes them; several, by a comma or repeated, share them"),
};
const PLANNING = {
  site: word("Site document: findings it accepts"),
  "force-aggregates": flag("Move though the hosts are in other aggregates"),
};
/** Of machines of nova-baremetal: what boots them on their new host, which is this one. */
const BOOT = {
  "tftp-root": word("With --nova-bm-db: TFTP tree of this host, which machines go to"),
  "tftp-from": words("HOST=DIR: a copy of the TFTP tree of the host they leave. Repeatable"),
  "root-uuid": words("NODE=UUID: root filesystem of a machine whose boot file is lost. Repeatable"),
  "my-ip": word("Address of this host that machines boot from: what Neutron's ports are told"),
};
const PURGED = {
  "queue-purged": flag("The operator's word that compute.HOST was emptied by hand"),
};
const ACTING = common("no-window", "yes");

/** What rollback has a use for in a run of `host`. */
export const HOSTS_BACK: OptionTable = {
  ...{ ...RUN, ...NOVA, ...IRONIC, ...ACTING, ...listOptionsWithoutAll },
  ...{ all: {}, node: {}, plan: {} },
};

/** Every word of `host`, in the order help tells them. */
export const HOST_ACTIONS = {
  list: {
    describe: "which compute host owns which machine, and how it is",
    needs: ["nova-db"],
    options: { ...common("nova-db"), ...NOVA_BM, ...DOWN, ...listOptions },
  },
  plan: {
    describe: "say what a move would change, and what stands against it; writes nothing to Nova",
    needs: ["run", "nova-db", "to"],
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC },
      ...{
        node: words("Move this machine: its uuid. Repeatable"),
        ...WHERE,
        ...{ ...PLANNING, ...DOWN },
        ...BOOT,
      },
      ...listOptions,
    },
  },
  move: {
    describe: "perform the plan; the same command goes on where it stopped",
    needs: ["run", "nova-db"],
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...BOOT, ...NOVA_CONF, ...ACTING },
  },
  ...LEASE_ACTIONS,
  takeover: {
    describe: "fence a dead host, and move all its machines",
    needs: ["run", "nova-db", "from", "to"],
    options: {
      ...{ ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...WHERE, ...PLANNING, ...DOWN },
      ...BOOT,
      "fence-command": word("Program that keeps the dead host from coming back; 0 is yes"),
      "confirmed-down": flag(
        "The operator's word that this host is down, and stays so: asks nothing",
      ),
      settle: number("Seconds to wait for requests that are under way", { requiresArg: true }),
      plan: flag("Only show what would be done"),
      ...ACTING,
      ...listOptions,
    },
  },
  readmit: {
    describe: "let a fenced host come back",
    needs: ["run", "nova-db", "compute"],
    options: {
      ...{ ...RUN, ...NOVA_BM, ...common("nova-db") },
      ...PURGED,
      ...ACTING,
    },
  },
  verify: {
    describe:
      "as verify --run: who serves each machine, and whether a host that was left stays quiet",
    needs: ["run", "nova-db"],
    options: { ...RUN, ...NOVA_BM, ...NOVA, ...IRONIC, ...PURGED, ...listOptions },
  },
} as const satisfies { readonly [action: string]: HostAction };
