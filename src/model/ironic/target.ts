import type { TargetIdentity } from "../artefact.ts";
import type { Hooks, Left, Outcome } from "../change.ts";
import type { Row } from "../machine.ts";
import type { TargetDoc } from "../mapping.ts";
import type { Step } from "../plan.ts";
import type { Column } from "../tables.ts";
import type { Service } from "./service.ts";

/** A release this tool knows, with its tables. */
export interface Release {
  readonly doc: TargetDoc;
  readonly node: readonly Column[];
  readonly port: readonly Column[];
}

/** What to look for in Ironic: everything a batch of machines would claim. */
export interface Claims {
  readonly uuids: readonly string[];
  readonly instance_uuids: readonly string[];
  readonly names: readonly string[];
  readonly port_uuids: readonly string[];
  readonly addresses: readonly string[];
}

/** Rows of Ironic that stand where a batch wants to stand; secrets sealed. */
export interface Current {
  readonly nodes: readonly Row[];
  /** With `node_uuid` in place of node_id. */
  readonly ports: readonly Row[];
}

/** What would become of rows to delete. */
export interface RemovalForecast extends Pick<Outcome, "found" | "left"> {
  /** Deleted as soon as a conductor lets go of them; left when it does not in time. */
  readonly waiting: readonly Left[];
}

/** A foreign key to nodes without an index: for each node that is deleted the server reads its table whole. */
export interface ScannedKey {
  readonly table: string;
  readonly column: string;
  readonly rows: number;
}

/** Where steps are performed: rows of a database, or machines adopted over REST. */
export interface Target {
  readonly identity: TargetIdentity;
  readonly counts: () => Promise<{ readonly nodes: number; readonly ports: number }>;
  readonly current: (wanted: Claims) => Promise<Current>;
  /** The conductors behind it. */
  readonly service: () => Promise<Service>;
  /**
   * Performs a batch: all of it or nothing in a database; machine by machine over REST. Rows to
   * create are compared first, and what is there already is `found`. Rows to delete are deleted only
   * while they still are as loaded; a machine that is not is `left` whole.
   *
   * @throws MigrationError N2I-E300 when a row to create is there and differs, and is not ours
   */
  readonly perform: (steps: readonly Step[], hooks: Hooks) => Promise<Outcome>;
  /** What `perform` would do now with rows to delete, without a lock; nothing is written. */
  readonly judge: (steps: readonly Step[]) => Promise<RemovalForecast>;
  /** @throws MigrationError N2I-E302 when somebody else holds it */
  readonly lock: () => Promise<Lock>;
}

/** Held while writing; dies with its connection. */
export interface Lock {
  /** @throws MigrationError N2I-E302 when the lock is lost */
  readonly check: () => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Reads Ironic for verify, by queries of its own. */
export interface Verifier {
  /** @param planned a row by its uuid: one that is there just so may be given as that very object */
  readonly rows: (
    nodeUuids: readonly string[],
    planned: (uuid: string) => Row | undefined,
  ) => Promise<{
    readonly nodes: ReadonlyMap<string, Row>;
    /** Node uuid -> its ports. */
    readonly ports: ReadonlyMap<string, readonly Row[]>;
    /** Rows that cannot be read as what they should be: uuid -> reason. */
    readonly unreadable: ReadonlyMap<string, string>;
  }>;
  /** Nodes that carry this tool's mark. */
  readonly marked: () => Promise<number>;
  /** Secrets met so far that the service masks: they are not compared. */
  readonly uncompared?: () => number;
  readonly markedUuids: () => AsyncIterable<readonly string[]>;
}
