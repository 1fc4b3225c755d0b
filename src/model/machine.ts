import type { Json } from "../lib/json.ts";
import type { BootFile } from "./boot.ts";
import type { Finding } from "./findings.ts";
import type { Numbers, Texts } from "./rows.ts";
import type { Sealed } from "./secret.ts";

/** Column value. Integers beyond 2^53 are decimal strings. */
export type Value = string | number | boolean | null | Sealed;

/** Values by column. In `extra`: unknown columns that are not NULL. */
export type ColumnValues = { readonly [column: string]: Value };

/** Columns that code reads by name. Times are naive UTC. @source facts/nova-bm.md 1.3 */
export interface BmNode
  extends Texts<"uuid" | "service_host" | "instance_uuid" | "instance_name" | "task_state">,
    Texts<"pm_address" | "pm_user" | "created_at" | "updated_at">,
    Numbers<"cpus" | "memory_mb" | "local_gb" | "terminal_port"> {
  readonly id: number;
  /** True: skipped. False: live. Null: live, but invisible to nova-baremetal. */
  readonly deleted: boolean | null;
  readonly pm_password: Sealed | null;
  // Some schema versions lack these.
  readonly ephemeral_mb?: Value;
  readonly prov_mac_address?: Value;
  readonly pxe_config_path?: Value;
  readonly root_mb?: Value;
  readonly swap_mb?: Value;
  readonly extra?: ColumnValues;
}

/** @source facts/nova-bm.md 1.3 */
export interface BmInterface {
  readonly id: number;
  readonly bm_node_id: number | null;
  readonly deleted: boolean | null;
  readonly address: string | null;
  readonly vif_uuid: string | null;
  readonly extra?: ColumnValues;
}

/** All columns of a row, including unknown ones, for rules and drops. */
export function columnsOf(row: BmNode | BmInterface): ColumnValues {
  // Without `extra`, every property is a column.
  if (row.extra === undefined) return row as object as ColumnValues;
  const { extra, ...columns } = row;
  return { ...columns, ...extra };
}

/** A flavor with its extra specs, possibly deleted. @source facts/nova-bm.md 4.3 */
export interface Flavor {
  readonly id: number;
  readonly name: string | null;
  readonly flavorid: string | null;
  /** MiB. */
  readonly swap: number | null;
  readonly deleted: boolean;
  readonly extra_specs: { readonly [key: string]: string | null };
}

/** Nova data of the instance on a machine. @source facts/nova-bm.md 5.1 */
export interface Instance
  extends Texts<"host" | "node" | "vm_state" | "task_state" | "launched_at" | "display_name">,
    Texts<"project_id" | "image_ref" | "kernel_id" | "ramdisk_id">,
    Numbers<"root_gb" | "ephemeral_gb" | "memory_mb" | "vcpus"> {
  readonly uuid: string;
  /** 1 running, 4 shut down, 0 unknown. Up to ten minutes old, so never a proof. */
  readonly power_state: number | null;
  readonly deleted: boolean;
  /** Since Kilo, the copy in instance_extra, which Nova uses. Before, the flavor row. */
  readonly flavor: Flavor | null;
  /** Deploy images in this copy. Absent if none. */
  readonly copied_images?: readonly string[];
  /** instance_system_metadata: only image_* and instance_type_* keys. */
  readonly system_metadata: { readonly [key: string]: string | null };
  /** VIFs of instance_info_caches.network_info. Null if absent or unreadable. */
  readonly vifs: readonly Vif[] | null;
}

export interface Vif {
  readonly id: string;
  /** MAC, lower case. */
  readonly address: string;
}

export interface NovaView {
  /** The instance in bm_nodes.instance_uuid. Null if missing in Nova. */
  readonly instance: Instance | null;
  /** Live instances with this instances.node that bm_nodes does not name. */
  readonly others: readonly string[];
  /** Whether one of them was built completely. Absent: none. */
  readonly placed?: true;
  /** Whether a live nova-compute service has the name service_host. */
  readonly service: boolean;
  /** hypervisor_type of the node's live compute_nodes rows. */
  readonly compute_nodes: readonly string[];
  /** `instances.deleted` of the instance, if unclear. */
  readonly undecided?: string;
  /** Instance columns that are not UTF-8: `instances.display_name`. */
  readonly garbled?: readonly string[];
}

/** Other live rows with the same value, at most five ids each. */
export interface Duplicates {
  /** Rows with the same uuid, ignoring case. */
  readonly uuid: readonly number[];
  readonly instance_uuid: readonly number[];
  /**
   * bm_nodes.uuid of the rows in `instance_uuid`, lower case, empty for NULL. For a soft-deleted
   * row, which `instance_uuid` excludes: of live rows with its instance.
   */
  readonly holders: readonly string[];
  /** Normalised MAC -> ids of other bm_nodes rows. */
  readonly address: { readonly [mac: string]: readonly number[] };
}

/** Unit of work: a bm_node with its interfaces and Nova data. */
export interface Machine {
  readonly node: BmNode;
  readonly interfaces: readonly BmInterface[];
  /** Null if the nova database was not read. */
  readonly nova: NovaView | null;
  readonly duplicates: Duplicates;
  /** Boot file in its compute host's TFTP tree. Absent without trees or without an instance. */
  readonly boot?: BootFile;
  /** Credentials read as UTF-8. Absent if there is no sign of a wrong charset. */
  readonly decoded?: Decoded;
  readonly findings: readonly Finding[];
}

/** pm_user and pm_password if their Latin-1 bytes are UTF-8. */
export interface Decoded {
  readonly pm_user?: string;
  readonly pm_password?: Sealed;
}

/** @source facts/nova-bm.md 3.4 */
export interface HostConfig
  extends VirtualPower,
    Texts<"cpu_arch" | "my_ip" | "deploy_kernel" | "deploy_ramdisk"> {
  /** bm_nodes.service_host; "*" for every host without its own file. */
  readonly host: string;
  /** Full class path, possibly Nova's default. Null if the files may be of another host. */
  readonly power_manager: string | null;
  /** Reason for null or Nova's default, with the file. */
  readonly power_manager_fault: string | null;
  /** `[DEFAULT] host`, which is service_host. Null if not set. */
  readonly own_host: string | null;
  /** Full class path of the deploy driver, possibly empty. */
  readonly driver: string;
  /** flavor_extra_specs (or instance_type_extra_specs) without cpu_arch. */
  readonly extra_specs: { readonly [key: string]: string };
  readonly tftp_root: string;
  readonly pxe_bootfile_name: string;
  readonly virtual_power_host_pass: Sealed | null;
}

/** Login of a host of virtual machines. @source facts/nova-bm.md 3.2, 3.4 */
export interface VirtualPower
  extends Texts<"virtual_power_ssh_host" | "virtual_power_host_user" | "virtual_power_host_key"> {
  readonly virtual_power_ssh_port: number;
  readonly virtual_power_type: string;
}

export type Row = { readonly [column: string]: Json };

export type SnapshotLine = Machine | { readonly orphan: BmInterface; readonly finding: Finding };
