import type { Json, JsonObject } from "../lib/json.ts";
import type { Acceptance } from "./finding.ts";
import type { FindingCode } from "./findings.ts";
import type { ReleaseHardware } from "./ironic/hardware.ts";
import type { ConductorIpmitool } from "./power.ts";
import type { Column } from "./tables.ts";

/** One rule: where a field of the record comes from. mappings/schema/rules.schema.json has the form. */
export interface Rule {
  /** Column, or a path into a JSON column; `$key` is replaced by the target's name for it. */
  readonly to: string;
  /** `place.field`, perhaps `|converter`; several: the first that is there. */
  readonly from?: string | readonly string[];
  /** A constant, where nothing is read. */
  readonly value?: Json;
  /** Converter for whatever `from` gave. */
  readonly as?: string;
  /** Only for machines that keep their instance. */
  readonly when?: "instance";
  /** Left out, without fuss, where the target has no such column. */
  readonly optional?: boolean;
  /** The record has no such field where nothing gives it, rather than an empty one. */
  readonly sparse?: boolean;
  /** The finding when nothing is there. */
  readonly missing?: FindingCode;
  /**
   * `takeover`: only where the target's take-over needs the instance's image; `deploy-images`: only
   * where it needs those too; `netboot`: only where it makes a boot file of the root's uuid.
   */
  readonly missing_when?: "takeover" | "deploy-images" | "netboot";
  /** Why a constant is what it is. */
  readonly why?: string;
}

export interface Rules {
  readonly node: readonly Rule[];
  readonly port: readonly Rule[];
  /** Columns that code reads, and for what. */
  readonly reads: { readonly [column: string]: string };
  /** Columns left behind, and why. */
  readonly drops: { readonly [column: string]: string };
}

export interface DriverRow {
  readonly name: string;
  /** Class path in nova.conf; null is the row for machines whose driver the site document sets. */
  readonly power_manager: string | null;
  /** Why it can never be carried over. */
  readonly refused?: string;
  readonly rules: readonly Rule[];
  /** bm_nodes columns nova-baremetal insisted on. */
  readonly credentials: readonly string[];
  /** Keys of driver_info of which one is needed. */
  readonly one_of?: readonly string[];
  readonly drops: { readonly [column: string]: string };
}

export interface Drivers {
  readonly drivers: readonly DriverRow[];
  /** Class path of the deploy driver whose machines Ironic deploys as nova-baremetal did. */
  readonly deploy_driver: string;
  /** Others -> why their machines cannot be carried over. */
  readonly deploy_drivers_refused: { readonly [classPath: string]: string };
}

export type NovaSays = "unknown" | "missing" | "deleted" | "busy" | "live";
export type Claim = "sole" | "won" | "lost" | "unresolved";
export type StateOutcome =
  | "free"
  | "active"
  | "held"
  | "error"
  | "deploy-failed"
  | "dirty"
  | "block";

/** A row of the state table; the first whose conditions all hold decides. */
export interface StateRow {
  readonly id: string;
  readonly when: {
    readonly instance?: boolean;
    readonly task_state?: readonly (string | null)[];
    readonly nova?: readonly NovaSays[];
    readonly claim?: readonly Claim[];
    readonly launched?: boolean;
    readonly placed?: boolean;
  };
  readonly outcome: StateOutcome;
  readonly finding?: FindingCode;
  /** The outcome once the operator accepts the finding. */
  readonly accepted?: StateOutcome;
  readonly means: string;
}

export interface States {
  readonly rows: readonly StateRow[];
  readonly outcomes: { readonly [outcome in StateOutcome]: { readonly instance: boolean } };
}

/** One supported Ironic release. */
export interface TargetDoc {
  readonly release: string;
  readonly alembic_head: string;
  /** Newest microversion of its API, `1.82`; null where nothing can be adopted. */
  readonly api: string | null;
  /** Source versions of the same release; null: none, the pairing needs the operator's word. */
  readonly pairing: {
    readonly nova: readonly number[];
    readonly nova_bm: readonly number[];
  } | null;
  readonly versions: {
    readonly node: string | null;
    readonly port: string | null;
    /** Absent where nodes have no traits. */
    readonly trait?: string;
  };
  /** The release's own names; null where it has no such key. */
  readonly keys: { readonly [key: string]: string | null };
  /** properties.capabilities every machine gets. */
  readonly capabilities: { readonly [key: string]: string };
  /** Keys of driver_info by which a conductor of this release logs in to a BMC another way. */
  readonly power_keys: readonly string[];
  /** The ipmitool that distributions had when the release came out. @source facts/ipmi.md 5.1 */
  readonly ipmitool: ConductorIpmitool;
  /** What take-over needs: the instance's image, `deploy-images` those too. */
  readonly takeover: "deploy-images" | "image" | "none";
  /**
   * What adoption asks of a machine that boots from the network, besides a port: both deploy images,
   * or those of the conductor's configuration where it has none itself; `none` of one that boots from disk.
   * @source facts/ironic.md 4.3
   */
  readonly adoption: "deploy-images" | "conductor-images" | "none";
  /**
   * What take-over makes of a network-booting machine's boot file: `deploy` leaves it in deploy
   * mode, `edit` needs it there and `netboot` makes it, both of the root filesystem's uuid, `local`
   * removes it.
   * @source facts/ironic.md 2.3
   */
  readonly boot: "deploy" | "edit" | "netboot" | "local";
  /** Label of the boot file by which the release boots a tenant; null where take-over removes it. */
  readonly boot_label: string | null;
  /** boot_option of the capabilities of machines with an instance, where it must be said. */
  readonly boot_option: string | null;
  /** Of every node, where the release must have one. */
  readonly network_interface: string | null;
  /** Driver and interfaces by row of the driver table; null: the release has none for it. */
  readonly drivers: { readonly [name: string]: { readonly [field: string]: string } | null };
  readonly states: { readonly [outcome: string]: { readonly [field: string]: Json } };
  /** Tables whose rows hang on a node: a conductor's go with it, an operator's keep it. */
  readonly children: {
    readonly conductor: readonly string[];
    readonly operator: readonly string[];
  };
}

/** Fields that stand in records and in no column of their row: a port's node, a node's traits. */
export function besideColumns({ versions }: TargetDoc): readonly string[] {
  return ["node_uuid", ...(versions.trait === undefined ? [] : ["traits"])];
}

/** Alembic revisions, in the order they are applied. mappings/schema/heads.schema.json has the form. */
export interface Heads {
  /** A release that cannot be a target. */
  readonly older: {
    readonly release: string;
    readonly why: string;
    readonly heads: readonly string[];
  };
  /** By supported release: its revisions, of which the last is its head. */
  readonly steps: { readonly [release: string]: readonly string[] };
  /** After the newest supported release. */
  readonly newer: readonly string[];
}

/** What the site document says of the machines it matches; later entries win. */
export interface SiteEntry {
  /** Of a list one text has to fit. */
  readonly match: { readonly [column: string]: string | readonly string[] };
  readonly set?: JsonObject;
  readonly skip?: string;
  readonly accept?: readonly Acceptance[];
}

export interface Site {
  /** Where it came from, to name its faults. */
  readonly file?: string;
  readonly machines: readonly SiteEntry[];
  readonly rules: { readonly node: readonly Rule[]; readonly port: readonly Rule[] };
  readonly drops: { readonly [column: string]: string };
}

/** Everything transform needs besides the machine, checked and ready. */
export interface Mapping {
  readonly rules: Rules;
  readonly drivers: Drivers;
  readonly states: States;
  readonly hardware: ReleaseHardware;
  readonly target: TargetDoc;
  readonly columns: { readonly node: readonly Column[]; readonly port: readonly Column[] };
  readonly site: Site;
}
