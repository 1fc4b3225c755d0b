import type { Finding } from "./findings.ts";
import type { HostConfig } from "./machine.ts";
import type { FieldChange, Verdict } from "./plan.ts";
import type { ConductorIpmitool } from "./power.ts";

export type ArtefactKind =
  | ("snapshot" | "power" | "machines" | "nova" | "nova-findings")
  /** Machines that move between compute hosts. */
  | "moves";

/** Source server and database. Enough to detect a swap, without secrets. */
export interface ServerIdentity {
  readonly engine: "mysql" | "postgresql" | "sqlite";
  /** `host:port` or the absolute path. */
  readonly address: string;
  readonly database: string;
  readonly version: string;
  /** The server's own id (server_uuid, system identifier, inode). */
  readonly server: string;
}

export interface NovaVersion {
  readonly schema_version: number;
  /** Alembic head. Absent before Xena. */
  readonly head?: string;
}

export interface SourceIdentity {
  readonly nova_bm: ServerIdentity & { readonly schema_version: number };
  readonly nova: (ServerIdentity & NovaVersion) | null;
}

export interface TargetIdentity extends Omit<ServerIdentity, "engine"> {
  /** `rest`: the API of a service at the URL in `address`. */
  readonly engine: ServerIdentity["engine"] | "rest";
  /** Over REST, the microversion of every call. */
  readonly alembic_head: string;
  /** `juno`, `kilo`, `2023.1`. */
  readonly release: string;
  /** `utf8mb3` if the database cannot store four-byte characters. */
  readonly charset: string;
}

export interface SnapshotHeader {
  readonly format: "nova2ironic/snapshot@2";
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly taken_at: string;
  readonly source: SourceIdentity;
  readonly columns: { readonly [table: string]: readonly string[] };
  /** Columns by table that nova2ironic does not know. */
  readonly unknown_columns: { readonly [table: string]: readonly string[] };
  readonly hosts: readonly HostConfig[];
  readonly ignored_tables: { readonly [table: string]: number };
  /** First four hex digits of the sealing key, to detect a wrong key before use. */
  readonly key: string;
  readonly findings: readonly Finding[];
}

export interface SnapshotCounts {
  readonly machines: number;
  readonly deleted: number;
  readonly interfaces: number;
  readonly orphans: number;
  readonly instances: number;
}

export interface PowerHeader {
  readonly format: "nova2ironic/power@1";
  readonly tool: string;
  readonly made_from: { readonly snapshot: string };
  /** Options of the power command, which the next run reuses. */
  readonly asked_for?: {
    readonly release: string;
    /** `--conductor-ipmitool`, if given. */
    readonly ipmitool: string | null;
    readonly site: string | null;
  };
}

export interface PowerCounts {
  readonly machines: number;
  readonly bmcs: number;
  readonly verdicts: { readonly [verdict: string]: number };
  /** ISO 8601, UTC, of the oldest reading. Null without readings. */
  readonly oldest: string | null;
}

export interface PlanHeader {
  readonly format: "nova2ironic/plan@2";
  readonly tool: string;
  readonly made_from: {
    readonly snapshot: string;
    /** sha256 over the mapping documents. */
    readonly mapping: string;
    /** sha256 of the site document. Null without one. */
    readonly site: string | null;
    readonly power: { readonly sha256: string; readonly oldest: string | null } | null;
  };
  readonly source: SourceIdentity;
  readonly target: TargetIdentity;
  readonly pairing: {
    readonly nova: number | null;
    readonly nova_bm: number;
    readonly ironic: string;
    /** By the rule, or by `--allow-pairing`. */
    readonly allowed: "rule" | "override";
    readonly why: string;
  };
  readonly key: string;
  /** Findings without a machine: orphan interfaces, ignored tables, Nova not read. */
  readonly findings: readonly Finding[];
  /** Counts of the target at planning. If they differ, apply checks more closely. */
  readonly target_before: { readonly nodes: number; readonly ports: number };
  /** The operator confirmed that the target may contain other nodes. */
  readonly allow_other_nodes?: true;
  readonly conductor_ipmitool?: ConductorIpmitool;
}

export interface MachinesHeader {
  readonly format: "nova2ironic/machines@1";
  /** [field, origin] pairs, which the `origins` of the records index. */
  readonly origins: readonly (readonly [string, string])[];
}

export interface PlanCounts {
  readonly machines: number;
  readonly verdicts: { readonly [verdict in Verdict]: number };
  readonly nodes: number;
  readonly ports: number;
  readonly findings: { readonly [code: string]: number };
  /** Machines that N2I-D612 blocks. */
  readonly power_outdated?: number;
}

export interface Footer<Counts> {
  readonly footer: Counts;
  /** sha256 of all bytes before the footer line. */
  readonly sha256: string;
}

export interface RowVerdict {
  /** `node`, `port`, or the Nova row. */
  readonly resource: string;
  /** For a Nova row, the uuid of its machine. */
  readonly uuid: string | null;
  readonly bm_node_id: number | null;
  readonly state: "validated" | "mismatched" | "missing" | "extra" | "suspended" | "used";
  readonly differs: readonly FieldChange[];
  /** For Nova: differing fields whose values are not shown. */
  readonly fields?: readonly string[];
  /** Nova or Ironic may be changing it now. */
  readonly moving?: boolean;
  /** The machine has been used, which explains all other differences. */
  readonly used?: boolean;
  readonly reason: string | null;
}

/** Verdicts on a machine. `reason`: null if the row is as expected. */
export function verdictsOf(uuid: string | null, bm_node_id: number | null = null) {
  return (resource: string, reason: string | null): RowVerdict => ({
    ...{ resource, uuid, bm_node_id, differs: [], reason },
    state: reason === null ? "validated" : "mismatched",
  });
}

export function nameOfRow({ resource, uuid, state, differs, fields = [] }: RowVerdict): string {
  const wrong = [...differs.map(({ field }) => field), ...fields].join(", ");
  return `${resource} ${uuid ?? ""} ${state}${wrong === "" ? "" : `: ${wrong}`}`;
}
