/** What a rehearsal has seen, as it is written to seen.json: what claims are judged by. */
export interface ObservedState {
  /** Moments by name, such as `before` and `after`. */
  readonly moments: { readonly [name: string]: Moment };
  /** The product's commands. */
  readonly ran: readonly Ran[];
  /** What tenants asked of their servers. */
  readonly acts: readonly Act[];
  /** What the proxy answered to those who asked it for all machines. */
  readonly listed: readonly Listed[];
  readonly by: By;
  /** How the fleet was made. */
  readonly fleet: Fleet;
  /** MiB, the most that the whole cloud's memory held. */
  readonly held: number;
}

/** How machines are carried over: rows into Ironic's database, with another host, or by its API. */
export type By = "rows" | "rename" | "rest";

export interface Fleet {
  /** Where servers are afterwards. */
  readonly host: string;
  /** bm_nodes.uuid of each machine of one kind. */
  readonly tenants: readonly string[];
  /** The tenant's that boots through the deploy interface `ramdisk`. */
  readonly ramdisk: string;
  /** An operator set its server to ERROR. */
  readonly ill: readonly string[];
  /** Has a server, and loads in maintenance. */
  readonly doubted: readonly string[];
  readonly free: readonly string[];
  readonly deleted: readonly string[];
  readonly errored: readonly string[];
  /** Loads in maintenance. */
  readonly held: readonly string[];
  readonly images: {
    readonly old: readonly [kernel: string, ramdisk: string];
    readonly new: readonly [kernel: string, ramdisk: string];
  };
}

/** The whole cloud at one moment, each part asked of the service it belongs to. */
export interface Moment {
  readonly servers: readonly Server[];
  /** By node: `nova hypervisor-list`. */
  readonly hypervisors: {
    readonly [node: string]: { readonly type: string; readonly state: string };
  };
  /** Rows of compute_nodes that are not deleted, by node. */
  readonly computeNodes: {
    readonly [node: string]: { readonly id: number; readonly uuid: string };
  };
  /** Placement's, by uuid. */
  readonly providers: { readonly [uuid: string]: Provider };
  /** Ironic's, by uuid; empty before there is one. */
  readonly nodes: { readonly [uuid: string]: Node };
  /** Rows of Ironic's nodes, whether or not it runs. */
  readonly loaded: number;
  /** Neutron's, by id. */
  readonly ports: { readonly [id: string]: Port };
  /** Ports that were bound to another host or to none since Neutron was started: `PORT: from A to B`. */
  readonly bindings: readonly string[];
  /** Of each BMC, by bm_nodes.uuid. */
  readonly power: { readonly [node: string]: boolean };
  /** What BMCs were told since they were started: `NODE power 0`. */
  readonly commands: readonly string[];
  /** Extra specs of the flavor. */
  readonly flavor: { readonly [key: string]: string };
  /** Lines of services' logs at level ERROR and above since the last moment. */
  readonly errors: readonly string[];
}

export interface Server {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly task: string | null;
  readonly power: number;
  readonly host: string;
  readonly node: string;
  readonly launched: string | null;
}

export interface Provider {
  readonly name: string;
  readonly inventory: {
    readonly [resource: string]: { readonly total: number; readonly reserved: number };
  };
  /** Resources by consumer. */
  readonly allocations: { readonly [consumer: string]: { readonly [resource: string]: number } };
}

export interface Port {
  readonly mac: string;
  /** IP addresses. */
  readonly ips: readonly string[];
  /** The server. */
  readonly device: string;
  readonly owner: string;
  readonly status: string;
  readonly host: string;
  readonly vif: string;
  readonly vnic: string;
  /** DHCP options, `NAME=VALUE`. */
  readonly options: readonly string[];
}

export interface Node {
  readonly provision_state: string;
  readonly power_state: string | null;
  readonly instance_uuid: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly protected: boolean;
  readonly deploy_interface: string;
  readonly last_error: string | null;
}

export interface Ran {
  readonly title: string;
  readonly words: readonly string[];
  /** Exit status, or the signal that ended it. */
  readonly status: number | string;
  readonly seconds: number;
  /** MiB, the most its memory held. */
  readonly peak: number;
  readonly out: string;
  readonly err: string;
}

/** An answer of `os-baremetal-nodes`. */
export interface Listed {
  readonly who: "an administrator" | "a member" | "nobody";
  /** Of HTTP. */
  readonly status: number;
  /** The state of each machine, by uuid. */
  readonly nodes: { readonly [uuid: string]: string };
}

export interface Act {
  /** When it was done: `after` is the end of the migration. */
  readonly phase: string;
  readonly what: string;
  readonly server: string;
  /** Null when it was as asked; else how it was when time was up. */
  readonly fault: string | null;
  readonly seconds: number;
}
