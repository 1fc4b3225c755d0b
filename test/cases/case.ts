import type { Json } from "../../src/lib/json.ts";

/** A row with only the relevant columns. The other columns come from `base`. */
export type CaseRow = { readonly [column: string]: Json };

/** A small deployment. Missing interfaces, instances and their rows in nova are generated. */
export interface Case {
  readonly shows: string;
  readonly nova_bm: {
    readonly version?: number;
    readonly nodes: readonly CaseRow[];
    /** Absent: one per node. */
    readonly interfaces?: readonly CaseRow[];
    /** Rows of other tables: bm_pxe_ips, bm_deployments. */
    readonly more?: { readonly [table: string]: readonly CaseRow[] };
    /** Columns of a fork: table -> column -> SQL type. */
    readonly columns?: { readonly [table: string]: { readonly [column: string]: string } };
  };
  /** Null: no nova database. Absent: generated from nova_bm. */
  readonly nova?: {
    readonly version?: number | string;
    readonly instances?: readonly CaseRow[];
    readonly flavors?: readonly CaseRow[];
    readonly extra_specs?: readonly CaseRow[];
    readonly system_metadata?: readonly CaseRow[];
    readonly info_caches?: readonly CaseRow[];
    readonly services?: readonly CaseRow[];
    readonly compute_nodes?: readonly CaseRow[];
    /** Rows of other tables: aggregates, aggregate_hosts, block_device_mapping. */
    readonly more?: { readonly [table: string]: readonly CaseRow[] };
  } | null;
  /** Flavors of Newton and later; absent: no nova_api database. */
  readonly nova_api?: {
    readonly version?: number | string;
    readonly flavors: readonly CaseRow[];
    readonly extra_specs: readonly CaseRow[];
  };
  /**
   * Host -> options of [baremetal], `host` and `compute_driver`; null: a file without [baremetal].
   * "*" is the file of all hosts. power_manager defaults to IPMI, and null omits it. Null: no file.
   */
  readonly nova_conf?: {
    readonly [host: string]: { readonly [option: string]: string | null } | null;
  } | null;
  /** Host -> path -> file text or link target; null: a folder. "*" for all hosts. */
  readonly tftp?: {
    readonly [host: string]: { readonly [path: string]: string | { readonly link: string } | null };
  };
  readonly ironic?: {
    /** A name in mappings/targets; default: Juno. */
    readonly release?: string;
    readonly nodes?: readonly CaseRow[];
    /** A port names its node by `node_uuid`. */
    readonly ports?: readonly CaseRow[];
    /** Rows of other tables: conductors, conductor_hardware_interfaces. */
    readonly more?: { readonly [table: string]: readonly CaseRow[] };
  };
  /** Arguments of `plan` for Nova's rows; absent: Nova's rows are not planned. */
  readonly plan_nova?: readonly string[];
  readonly site?: Json;
  /** Absent: the site document accepts that BMCs are not read. */
  readonly power?: true;
  readonly allow_pairing?: boolean;
}

/** `a0000000-0000-4000-8000-00000000000N`; the first letter differs by kind. */
export function caseUuid(kind: "node" | "instance" | "vif", id: number): string {
  const letter = { node: "a", instance: "b", vif: "c" }[kind];
  return `${letter}0000000-0000-4000-8000-${String(id).padStart(12, "0")}`;
}

export function caseMac(node: number, nic: number): string {
  const hex = node.toString(16).padStart(6, "0");
  return `52:54:${String(nic).padStart(2, "0")}:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}`;
}

const CREATED = "2014-05-01 10:00:00";

/** A node without problems, overridden by the columns of the case. */
export function baseNode(row: CaseRow): CaseRow {
  const id = Number(row.id);
  return {
    created_at: CREATED,
    updated_at: "2014-06-01 12:00:00",
    deleted_at: null,
    deleted: false,
    cpus: 8,
    memory_mb: 49152,
    local_gb: 500,
    pm_address: `10.0.0.${id}`,
    pm_user: "admin",
    pm_password: `bmc-secret-${id}`,
    service_host: "compute-1",
    instance_uuid: null,
    task_state: null,
    terminal_port: null,
    uuid: caseUuid("node", id),
    ...row,
  };
}

export function baseInterface(row: CaseRow): CaseRow {
  const node = Number(row.bm_node_id ?? 0);
  return {
    created_at: CREATED,
    updated_at: null,
    deleted_at: null,
    deleted: false,
    address: caseMac(node, 0),
    datapath_id: "0",
    port_no: 0,
    vif_uuid: null,
    ...row,
  };
}

export function baseInstance(node: CaseRow): CaseRow {
  const id = Number(node.id);
  return {
    id,
    uuid: String(node.instance_uuid ?? caseUuid("instance", id)),
    host: node.service_host ?? null,
    node: node.uuid ?? null,
    vm_state: "active",
    task_state: null,
    power_state: 1,
    deleted: 0,
    created_at: CREATED,
    launched_at: "2014-06-01 12:00:00",
    image_ref: "d0000000-0000-4000-8000-00000000000a",
    kernel_id: "d0000000-0000-4000-8000-00000000000b",
    ramdisk_id: "d0000000-0000-4000-8000-00000000000c",
    root_gb: 40,
    ephemeral_gb: 0,
    memory_mb: 49152,
    vcpus: 8,
    display_name: `tenant-${id}`,
    hostname: `tenant-${id}`,
    project_id: "e0000000000040008000000000000001",
    instance_type_id: 1,
  };
}
