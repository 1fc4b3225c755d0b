import type { Json } from "../lib/json.ts";
import type { BootFile } from "./boot.ts";
import type { Finding } from "./finding.ts";
import type { Sealed } from "./secret.ts";

/** A column's value as read: integers beyond 2^53 are decimal strings, booleans are booleans. */
export type Value = string | number | boolean | null | Sealed;

/** Naive UTC as the databases hold it: `2014-05-01 10:00:00`, perhaps with a fraction. */
type DbTime = string;

/** Values by column. As `extra` of a row: those of columns no schema version has, where they are not NULL. */
export type ColumnValues = { readonly [column: string]: Value };

/** A row of bm_nodes; columns some schema versions lack are optional. @source facts/nova-bm.md 1.3 */
export interface BmNode {
  readonly id: number;
  readonly uuid: string | null;
  /** True skip, false live, null live but never visible to nova-baremetal. */
  readonly deleted: boolean | null;
  readonly created_at: DbTime | null;
  readonly updated_at: DbTime | null;
  readonly service_host: string | null;
  readonly instance_uuid: string | null;
  readonly instance_name: string | null;
  readonly task_state: string | null;
  readonly cpus: number | null;
  /** MiB. */
  readonly memory_mb: number | null;
  /** GiB. */
  readonly local_gb: number | null;
  readonly pm_address: string | null;
  readonly pm_user: string | null;
  readonly pm_password: Sealed | null;
  readonly terminal_port: number | null;
  readonly deleted_at?: Value;
  readonly deploy_key?: Value;
  readonly ephemeral_mb?: Value;
  readonly image_path?: Value;
  readonly preserve_ephemeral?: Value;
  readonly prov_mac_address?: Value;
  readonly prov_vlan_id?: Value;
  readonly pxe_config_path?: Value;
  readonly registration_status?: Value;
  readonly root_mb?: Value;
  readonly swap_mb?: Value;
  readonly extra?: ColumnValues;
}

/** A row of bm_interfaces. @source facts/nova-bm.md 1.3 */
export interface BmInterface {
  readonly id: number;
  readonly bm_node_id: number | null;
  readonly deleted: boolean | null;
  readonly address: string | null;
  readonly vif_uuid: string | null;
  readonly created_at?: Value;
  readonly datapath_id?: Value;
  readonly deleted_at?: Value;
  readonly port_no?: Value;
  readonly updated_at?: Value;
  readonly extra?: ColumnValues;
}

/** A row's columns by name, those nobody knows among the others: what rules and drops speak of. */
export function columnsOf(row: BmNode | BmInterface): ColumnValues {
  // An interface has no index signature; without `extra` every property is a column.
  if (row.extra === undefined) return row as object as ColumnValues;
  const { extra, ...known } = row;
  return { ...known, ...extra };
}

/** A flavor with its extra specs, deleted ones included. @source facts/nova-bm.md 4.3 */
export interface Flavor {
  readonly id: number;
  readonly name: string | null;
  readonly flavorid: string | null;
  /** MiB. */
  readonly swap: number | null;
  readonly deleted: boolean;
  readonly extra_specs: { readonly [key: string]: string | null };
}

/** What Nova knows of the instance on a machine. @source facts/nova-bm.md 5.1 */
export interface Instance {
  readonly uuid: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly vm_state: string | null;
  readonly task_state: string | null;
  /** 1 running, 4 shut down, 0 unknown: a hint at most ten minutes old, never a proof. */
  readonly power_state: number | null;
  readonly deleted: boolean;
  readonly launched_at: DbTime | null;
  readonly image_ref: string | null;
  readonly kernel_id: string | null;
  readonly ramdisk_id: string | null;
  /** GiB. */
  readonly root_gb: number | null;
  /** GiB. */
  readonly ephemeral_gb: number | null;
  /** MiB. */
  readonly memory_mb: number | null;
  readonly vcpus: number | null;
  readonly display_name: string | null;
  readonly project_id: string | null;
  /** Since Kilo the copy in instance_extra, which is what Nova goes by; before, the row. */
  readonly flavor: Flavor | null;
  /** Deploy images that this copy names; absent when it names none. */
  readonly copied_images?: readonly string[];
  /** instance_system_metadata: image_* and instance_type_* keys only. */
  readonly system_metadata: { readonly [key: string]: string | null };
  /** VIFs of instance_info_caches.network_info; null when it is absent or unreadable. */
  readonly vifs: readonly Vif[] | null;
}

export interface Vif {
  /** Neutron port uuid. */
  readonly id: string;
  /** MAC, lower case. */
  readonly address: string;
}

/** The nova database's view of one machine. */
export interface NovaView {
  /** The instance bm_nodes.instance_uuid names; null when Nova has no such row. */
  readonly instance: Instance | null;
  /** Live instances whose instances.node is this node but which bm_nodes does not name. */
  readonly others: readonly string[];
  /** Whether one of them is no failed or unfinished build; absent where none is. */
  readonly placed?: true;
  /** Whether a live nova-compute service has the name service_host. */
  readonly service: boolean;
  /** hypervisor_type of the node's live compute_nodes rows. */
  readonly compute_nodes: readonly string[];
  /** What stands in `instances.deleted` of the instance, where it says neither yes nor no. */
  readonly undecided?: string;
  /** Where what Nova says of the instance is not UTF-8: `instances.display_name`. */
  readonly garbled?: readonly string[];
}

/** Other live rows that claim the same thing; at most five ids each. */
export interface Duplicates {
  /** Rows with the same uuid, ignoring case. */
  readonly uuid: readonly number[];
  readonly instance_uuid: readonly number[];
  /**
   * bm_nodes.uuid of the rows in `instance_uuid`, lower case; empty text for NULL. Of a soft-deleted
   * row, which `instance_uuid` leaves out: of the live rows that have its instance.
   */
  readonly holders: readonly string[];
  /** MAC, normalised -> ids of other bm_nodes rows that have it too. */
  readonly address: { readonly [mac: string]: readonly number[] };
}

/** The unit of work: one bm_node with its interfaces and what Nova says of its instance. */
export interface Machine {
  readonly node: BmNode;
  readonly interfaces: readonly BmInterface[];
  /** Null when the nova database was not read. */
  readonly nova: NovaView | null;
  readonly duplicates: Duplicates;
  /** What its compute host's TFTP tree holds; absent without trees, and without an instance. */
  readonly boot?: BootFile;
  /** Credentials as they were meant; absent where nothing speaks for another reading. */
  readonly decoded?: Decoded;
  readonly findings: readonly Finding[];
}

/** What pm_user and pm_password are when their bytes, stored as Latin-1, are read as UTF-8. */
export interface Decoded {
  readonly pm_user?: string;
  readonly pm_password?: Sealed;
}

/** The [baremetal] settings of one compute host. @source facts/nova-bm.md 3.4 */
export interface HostConfig {
  /** bm_nodes.service_host it is for; "*" for every host without a file of its own. */
  readonly host: string;
  /** Full class path, be it Nova's default; null where the files do not show that it is this host's. */
  readonly power_manager: string | null;
  /** Why it is null or Nova's default: names the file. */
  readonly power_manager_fault: string | null;
  /** `[DEFAULT] host`: the service_host whose files these are; null where it is not set. */
  readonly own_host: string | null;
  /** Full class path of the deploy driver; empty as the file has it. */
  readonly driver: string;
  readonly cpu_arch: string | null;
  /** flavor_extra_specs (or instance_type_extra_specs) but for cpu_arch. */
  readonly extra_specs: { readonly [key: string]: string };
  readonly tftp_root: string;
  /** What its machines get by DHCP: the server of boot files, and which is first. */
  readonly my_ip: string | null;
  readonly pxe_bootfile_name: string;
  readonly deploy_kernel: string | null;
  readonly deploy_ramdisk: string | null;
  readonly virtual_power_ssh_host: string | null;
  readonly virtual_power_ssh_port: number;
  readonly virtual_power_type: string;
  readonly virtual_power_host_user: string | null;
  readonly virtual_power_host_pass: Sealed | null;
  readonly virtual_power_host_key: string | null;
}

/** A JSON object as artefacts carry rows. */
export type Row = { readonly [column: string]: Json };

/** A snapshot's line: a machine, or an interface that belongs to none. */
export type SnapshotLine = Machine | { readonly orphan: BmInterface; readonly finding: Finding };
