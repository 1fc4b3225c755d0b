import type { Json, JsonObject } from "../lib/json.ts";
import type { Acceptance, FindingCode } from "./findings.ts";
import type { ReleaseHardware } from "./ironic/hardware.ts";
import type { ConductorIpmitool } from "./power.ts";

/** Source of a field of the record. Schema: mappings/schema/rules.schema.json */
export interface Rule {
  /** Column, or a path in a JSON column. `$key` stands for its name in the target. */
  readonly to: string;
  /** `place.field`, with an optional `|converter`. Of several, the first that exists. */
  readonly from?: string | readonly string[];
  /** Constant, without a source. */
  readonly value?: Json;
  /** Converter for `from`. */
  readonly as?: string;
  /** Only for machines that keep their instance. */
  readonly when?: "instance";
  /** Ignored if the target has no such column. */
  readonly optional?: boolean;
  /** Without a value, omit the field instead of setting it to null. */
  readonly sparse?: boolean;
  /** Finding if there is no value. */
  readonly missing?: FindingCode;
  /**
   * `takeover`: only if takeover needs the instance's image. `deploy-images`: only if it also
   * needs these. `netboot`: only if it writes a boot file with the root's uuid.
   */
  readonly missing_when?: "takeover" | "deploy-images" | "netboot";
  readonly why?: string;
}

export interface Rules {
  readonly node: readonly Rule[];
  readonly port: readonly Rule[];
  /** Columns that code reads, and the purpose. */
  readonly reads: { readonly [column: string]: string };
  /** Columns that are not migrated, and the reason. */
  readonly drops: { readonly [column: string]: string };
}

export interface DriverRow {
  readonly name: string;
  /** Class path in nova.conf. Null for machines with a driver in the site document. */
  readonly power_manager: string | null;
  /** Reason why it can never be migrated. */
  readonly refused?: string;
  readonly rules: readonly Rule[];
  /** bm_nodes columns that nova-baremetal required. */
  readonly credentials: readonly string[];
  /** driver_info keys of which one is required. */
  readonly one_of?: readonly string[];
  readonly drops: { readonly [column: string]: string };
}

export interface Drivers {
  readonly drivers: readonly DriverRow[];
  /** Class path of the deploy driver that Ironic replaces. */
  readonly deploy_driver: string;
  /** Other deploy drivers -> reason why their machines cannot be migrated. */
  readonly deploy_drivers_refused: { readonly [classPath: string]: string };
}

export type Presence = "unknown" | "missing" | "deleted" | "busy" | "live";
export type Claim = "sole" | "won" | "lost" | "unresolved";
export type StateOutcome =
  | "free"
  | "active"
  | "held"
  | "error"
  | "deploy-failed"
  | "dirty"
  | "block";

/** A row of the state table. The first row whose conditions are all true decides. */
export interface StateRow {
  readonly id: string;
  readonly when: {
    readonly instance?: boolean;
    readonly task_state?: readonly (string | null)[];
    readonly nova?: readonly Presence[];
    readonly claim?: readonly Claim[];
    readonly launched?: boolean;
    readonly placed?: boolean;
  };
  readonly outcome: StateOutcome;
  readonly finding?: FindingCode;
  /** Outcome if the operator accepts the finding. */
  readonly accepted?: StateOutcome;
  readonly means: string;
}

export interface States {
  readonly rows: readonly StateRow[];
  readonly outcomes: { readonly [outcome in StateOutcome]: { readonly instance: boolean } };
}

/** An Ironic release. Described in mappings/schema/target.schema.json */
export interface TargetDoc {
  readonly release: string;
  readonly alembic_head: string;
  /** Newest API microversion, `1.82`. Null without adoption. */
  readonly api: string | null;
  /** Source versions of the same release. Null: the pairing needs the operator's consent. */
  readonly pairing: {
    readonly nova: readonly number[];
    readonly nova_bm: readonly number[];
  } | null;
  readonly versions: {
    readonly node: string | null;
    readonly port: string | null;
    /** Absent if nodes have no traits. */
    readonly trait?: string;
  };
  /** Key names of the release. Null if it lacks the key. */
  readonly keys: { readonly [key: string]: string | null };
  /** properties.capabilities of every machine. */
  readonly capabilities: { readonly [key: string]: string };
  /** driver_info keys that change the login of a conductor to a BMC. */
  readonly power_keys: readonly string[];
  /** ipmitool in distributions at the time of the release. @source facts/ipmi.md 5.1 */
  readonly ipmitool: ConductorIpmitool;
  /** Images that takeover needs: the instance's image and, with `deploy-images`, also these. */
  readonly takeover: "deploy-images" | "image" | "none";
  /**
   * Needs of adoption for a machine that boots from the network, in addition to a port: deploy
   * images of its own, or of the conductor's configuration. `none`: boots from disk.
   * @source facts/ironic.md 4.3
   */
  readonly adoption: "deploy-images" | "conductor-images" | "none";
  /**
   * Boot file after takeover of a machine that boots from the network: `deploy` leaves deploy
   * mode, `edit` changes an existing file, `netboot` writes it, `local` removes it. `edit` and
   * `netboot` use the root's uuid.
   * @source facts/ironic.md 2.3
   */
  readonly boot: "deploy" | "edit" | "netboot" | "local";
  readonly boot_label: string | null;
  readonly boot_option: string | null;
  readonly network_interface: string | null;
  readonly drivers: { readonly [name: string]: { readonly [field: string]: string } | null };
  readonly states: { readonly [outcome: string]: { readonly [field: string]: Json } };
  /** Child tables of nodes. A node with rows of `operator` is not deleted. */
  readonly children: {
    readonly conductor: readonly string[];
    readonly operator: readonly string[];
  };
}

/** Record fields without a column in their row: a port's node, a node's traits. */
export function extraFields({ versions }: TargetDoc): readonly string[] {
  return ["node_uuid", ...(versions.trait === undefined ? [] : ["traits"])];
}

/** Alembic revisions in order. Described in mappings/schema/heads.schema.json */
export interface Heads {
  readonly older: {
    readonly release: string;
    readonly why: string;
    readonly heads: readonly string[];
  };
  readonly steps: { readonly [release: string]: readonly string[] };
  readonly newer: readonly string[];
}

/** Site document values for matching machines. Later entries win. */
export interface SiteEntry {
  /** In a list, one text must match. */
  readonly match: { readonly [column: string]: string | readonly string[] };
  readonly set?: JsonObject;
  readonly skip?: string;
  readonly accept?: readonly Acceptance[];
}

export interface Site {
  readonly file?: string;
  readonly machines: readonly SiteEntry[];
  readonly rules: { readonly node: readonly Rule[]; readonly port: readonly Rule[] };
  readonly drops: { readonly [column: string]: string };
}

export interface Mapping {
  readonly rules: Rules;
  readonly drivers: Drivers;
  readonly states: States;
  readonly hardware: ReleaseHardware;
  readonly target: TargetDoc;
  readonly columns: { readonly node: readonly Column[]; readonly port: readonly Column[] };
  readonly site: Site;
}

/** Column types that every engine supports. */
type ColumnType =
  | "integer"
  | "bigint"
  | "string"
  | "text"
  | "mediumtext"
  | "longtext"
  | "boolean"
  | "datetime"
  | "float";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Characters, for a `string`. */
  readonly length?: number;
  readonly null: boolean;
  /** Default of the database, not of SQLAlchemy in Python. */
  readonly default?: string | number | boolean;
  /** Numbered by the database: auto_increment, serial, rowid. */
  readonly auto?: true;
}

export interface Key {
  /** Name in upgrade migrations. Absent: the engine's default name. */
  readonly name?: string;
  readonly columns: readonly string[];
}

export interface ForeignKey {
  readonly column: string;
  /** `nodes.id` */
  readonly references: string;
}

export interface Table {
  /** In the order of the migrations. */
  readonly columns: readonly Column[];
  readonly primary: readonly string[];
  readonly unique: readonly Key[];
  readonly foreign: readonly ForeignKey[];
  readonly index: readonly Key[];
}

export interface Tables {
  readonly tables: { readonly [name: string]: Table };
  /** Row of migrate_version or alembic_version. */
  readonly version: {
    readonly table: string;
    readonly row: { readonly [column: string]: string | number };
  };
}
