import type { TargetIdentity } from "../artefact.ts";
import type { Hooks, Outcome, SkippedRow } from "../change.ts";
import type { Row } from "../machine.ts";
import type { Column, TargetDoc } from "../mapping.ts";
import type { Step } from "../plan.ts";
import type { Service } from "./service.ts";

export interface Release {
  readonly doc: TargetDoc;
  readonly node: readonly Column[];
  readonly port: readonly Column[];
}

/** Keys of a batch that must be free in Ironic. */
export type Claims = Readonly<
  Record<"uuids" | "instance_uuids" | "names" | "port_uuids" | "addresses", readonly string[]>
>;

/** Existing rows with these keys. Secrets are sealed. */
export interface Current {
  readonly nodes: readonly Row[];
  /** With `node_uuid` instead of node_id. */
  readonly ports: readonly Row[];
}

export interface RemovalForecast extends Pick<Outcome, "found" | "skipped"> {
  /** Deleted when a conductor releases them in time, else skipped. */
  readonly waiting: readonly SkippedRow[];
}

/** A foreign key to nodes without an index. The server scans its table for each deleted node. */
export interface ScannedKey {
  readonly table: string;
  readonly column: string;
  readonly rows: number;
}

/** Backend of a load: the database, or adoption over REST. */
export interface Target {
  readonly identity: TargetIdentity;
  readonly counts: () => Promise<{ readonly nodes: number; readonly ports: number }>;
  readonly current: (claims: Claims) => Promise<Current>;
  readonly service: () => Promise<Service>;
  /**
   * Performs a batch: atomically in a database, by machine over REST. Rows that exist as planned
   * are `found`. A machine is deleted only if all its rows are as loaded.
   * @throws MigrationError N2I-E300 if an existing row differs and is not ours
   */
  readonly perform: (steps: readonly Step[], hooks: Hooks) => Promise<Outcome>;
  /** Preview of `perform` for deletions, without locks and writes. */
  readonly judge: (steps: readonly Step[]) => Promise<RemovalForecast>;
  /** @throws MigrationError N2I-E302 if another process holds the lock */
  readonly lock: () => Promise<Lock>;
}

/** Held for writes. Ends with its connection. */
export interface Lock {
  /** @throws MigrationError N2I-E302 if the lock is lost */
  readonly check: () => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Reads Ironic for verify with its own queries. */
export interface Verifier {
  /** @param planned row by uuid, which may be returned itself for an equal row */
  readonly rows: (
    nodeUuids: readonly string[],
    planned: (uuid: string) => Row | undefined,
  ) => Promise<{
    readonly nodes: ReadonlyMap<string, Row>;
    readonly ports: ReadonlyMap<string, readonly Row[]>;
    /** Unreadable rows: uuid -> reason. */
    readonly unreadable: ReadonlyMap<string, string>;
  }>;
  readonly marked: () => Promise<number>;
  /** Number of masked secrets, which are not compared. */
  readonly uncompared?: () => number;
  readonly markedUuids: () => AsyncIterable<readonly string[]>;
}
