import type { Finding } from "./finding.ts";
import type { HostConfig } from "./machine.ts";
import type { FieldChange, Verdict } from "./plan.ts";
import type { ConductorIpmitool } from "./power.ts";

export type ArtefactKind =
  | ("snapshot" | "power" | "machines" | "nova" | "nova-findings")
  /** Machines that go between compute hosts. */
  | "moves";

/** Which server and database an artefact speaks of: enough to tell a swap, nothing secret. */
export interface ServerIdentity {
  readonly engine: "mysql" | "postgresql" | "sqlite";
  /** `host:port` or the absolute path. */
  readonly address: string;
  readonly database: string;
  readonly version: string;
  /** What the server itself calls itself (server_uuid, system identifier, inode). */
  readonly server: string;
}

/** How far Nova's own migrations got. */
export interface NovaVersion {
  readonly schema_version: number;
  /** Head of alembic; absent before Xena. */
  readonly head?: string;
}

export interface SourceIdentity {
  readonly nova_bm: ServerIdentity & { readonly schema_version: number };
  readonly nova: (ServerIdentity & NovaVersion) | null;
}

export interface TargetIdentity extends Omit<ServerIdentity, "engine"> {
  /** `rest`: no database but the API of a service, at the URL that `address` is. */
  readonly engine: ServerIdentity["engine"] | "rest";
  /** Over REST the microversion that every call is pinned to. */
  readonly alembic_head: string;
  /** Mapping document that fits: `juno`, `kilo`, `2023.1`. */
  readonly release: string;
  /** `utf8mb3` on databases that cannot hold four-byte characters. */
  readonly charset: string;
}

export interface SnapshotHeader {
  readonly format: "nova2ironic/snapshot@2";
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly taken_at: string;
  readonly source: SourceIdentity;
  /** Columns found, by table. */
  readonly columns: { readonly [table: string]: readonly string[] };
  /** Columns this tool does not know, by table. */
  readonly unknown_columns: { readonly [table: string]: readonly string[] };
  readonly hosts: readonly HostConfig[];
  /** Rows of tables Ironic has no use for. */
  readonly ignored_tables: { readonly [table: string]: number };
  /** Four hex digits of the sealing key, so that a wrong key is named before it is used. */
  readonly key: string;
  readonly findings: readonly Finding[];
}

export interface SnapshotCounts {
  readonly machines: number;
  readonly deleted: number;
  readonly interfaces: number;
  /** Interfaces that belong to no machine. */
  readonly orphans: number;
  readonly instances: number;
}

export interface PowerHeader {
  readonly format: "nova2ironic/power@1";
  readonly tool: string;
  readonly made_from: { readonly snapshot: string };
  /** What was said of the conductors and by which site document; the next run goes on with it. */
  readonly asked_for?: {
    readonly release: string;
    /** `--conductor-ipmitool`, where it was given. */
    readonly ipmitool: string | null;
    /** Path of the site document, absolute. */
    readonly site: string | null;
  };
}

export interface PowerCounts {
  readonly machines: number;
  readonly bmcs: number;
  readonly verdicts: { readonly [verdict: string]: number };
  /** ISO 8601, UTC: when the oldest reading was asked; null when nothing was. */
  readonly oldest: string | null;
}

export interface PlanHeader {
  readonly format: "nova2ironic/plan@2";
  readonly tool: string;
  readonly made_from: {
    /** sha256 of the snapshot. */
    readonly snapshot: string;
    /** sha256 over the mapping documents used. */
    readonly mapping: string;
    /** sha256 of the site document; null when there is none. */
    readonly site: string | null;
    /** The readings taken into account; null when there were none. */
    readonly power: { readonly sha256: string; readonly oldest: string | null } | null;
  };
  readonly source: SourceIdentity;
  readonly target: TargetIdentity;
  readonly pairing: {
    readonly nova: number | null;
    readonly nova_bm: number;
    readonly ironic: string;
    /** By the rule, or because `--allow-pairing` was given. */
    readonly allowed: "rule" | "override";
    readonly why: string;
  };
  readonly key: string;
  /** Findings that belong to no machine: orphan interfaces, ignored tables, Nova not read. */
  readonly findings: readonly Finding[];
  /** Counts of the target when the plan was made; a difference makes apply look closer. */
  readonly target_before: { readonly nodes: number; readonly ports: number };
  /** The operator's word that the target holds nodes of others, and is the right one. */
  readonly allow_other_nodes?: true;
  /** The operator's word about the conductors' ipmitool. */
  readonly conductor_ipmitool?: ConductorIpmitool;
}

/** Of machines.jsonl. */
export interface MachinesHeader {
  readonly format: "nova2ironic/machines@1";
  /** What `origins` of the records point into: [field, origin]. */
  readonly origins: readonly (readonly [string, string])[];
}

export interface PlanCounts {
  readonly machines: number;
  readonly verdicts: { readonly [verdict in Verdict]: number };
  readonly nodes: number;
  readonly ports: number;
  /** Finding code -> how often. */
  readonly findings: { readonly [code: string]: number };
  /** Machines that N2I-D612 blocks. Absent: none. */
  readonly power_outdated?: number;
}

/** The last line of every artefact. */
export interface Footer<Counts> {
  readonly footer: Counts;
  /** sha256 of all bytes before the footer's line. */
  readonly sha256: string;
}

/** What verify says of one row. */
type RowState = "validated" | "mismatched" | "missing" | "extra" | "suspended" | "used";

export interface RowVerdict {
  /** `node`, `port`; of Nova the row, or what of a machine. */
  readonly resource: string;
  /** Of a row of Nova, its machine's. */
  readonly uuid: string | null;
  readonly bm_node_id: number | null;
  readonly state: RowState;
  readonly differs: readonly FieldChange[];
  /** Of Nova: fields that differ, whose values are not shown. */
  readonly fields?: readonly string[];
  /** Nova or Ironic may be working on it just now. */
  readonly moving?: boolean;
  /** The machine was used since, which explains all other differences of it. */
  readonly used?: boolean;
  readonly reason: string | null;
}

/** Describes a compared row in one line: `node UUID mismatched: owner, driver`. */
export function nameOfRow({ resource, uuid, state, differs, fields = [] }: RowVerdict): string {
  const wrong = [...differs.map(({ field }) => field), ...fields].join(", ");
  return `${resource} ${uuid ?? ""} ${state}${wrong === "" ? "" : `: ${wrong}`}`;
}
