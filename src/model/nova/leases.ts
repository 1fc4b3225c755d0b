import type { Column, Table } from "../tables.ts";

/** A host's lease, as its row has it. */
export interface Lease {
  readonly host: string;
  readonly epoch: number;
  /** Its last heartbeat as its row has it: milliseconds since 1970, by the server's clock. */
  readonly heartbeat: number;
  /** Milliseconds since then by the same clock; less than none where it is ahead. */
  readonly age: number;
  /** Milliseconds. */
  readonly ttl: number;
  /** Whether its agent takes over the machines of dead hosts. */
  readonly takes: boolean | null;
  readonly fenced_by: string | null;
  /** Milliseconds since it was fenced; null where it is not. */
  readonly fenced: number | null;
}

/**
 * Whether a lease lasts. One whose heartbeat is further ahead of the clock than it lasts was written by another clock:
 * it would hide the death of its host until this clock is there.
 */
export function lasts({ age, ttl }: Pick<Lease, "age" | "ttl">): boolean {
  return Math.abs(age) <= ttl;
}

function named(name: string, length: number, empty = true): Column {
  return { name, type: "string", length, null: empty };
}

function milliseconds(name: string, empty: boolean): Column {
  return { name, type: "bigint", null: empty };
}

/**
 * What `host schema extend` adds to bm_nodes, in this order. Each may be left out of an INSERT:
 * nova-baremetal names its columns and never sees them.
 */
export const LEASE_COLUMNS: readonly Column[] = [
  // UTC, for people.
  { name: "service_heartbeat_at", type: "datetime", null: true },
  // The same moment since 1970 by the server's clock, the only one that is compared.
  milliseconds("service_heartbeat_ms", true),
  // One more at each change of the owner; it never goes back.
  { name: "service_epoch", type: "bigint", null: false, default: 0 },
  // What task_state was before `migrating`.
  named("prev_task_state", 255),
];

/** The tables it adds. Times are milliseconds since 1970 by the server's clock. */
export const LEASE_TABLES: { readonly [name: string]: Table } = {
  bm_service_leases: table([
    named("host", 255, false),
    { name: "epoch", type: "bigint", null: false },
    milliseconds("heartbeat_ms", false),
    milliseconds("ttl_ms", false),
    named("my_ip", 64),
    named("tftp_root", 255),
    { name: "takes", type: "boolean", null: true },
    named("fenced_by", 255),
    milliseconds("fenced_at_ms", true),
  ]),
  bm_locks: table([
    // `host:NAME`, `node:UUID` or `instance:UUID`.
    named("resource", 300, false),
    named("owner", 255),
    named("nonce", 36),
    { name: "token", type: "bigint", null: false, default: 0 },
    { name: "expires_ms", type: "bigint", null: false, default: 0 },
  ]),
  // What a dead host's disk tells nobody.
  bm_boot_records: table([
    named("instance_uuid", 36, false),
    named("host", 255, false),
    named("root_uuid", 36),
    named("kernel_id", 255),
    named("ramdisk_id", 255),
    milliseconds("seen_ms", false),
  ]),
};

/** Its first column is its key. */
function table(columns: readonly [Column, ...Column[]]): Table {
  return { columns, primary: [columns[0].name], unique: [], foreign: [], index: [] };
}

/**
 * Whether nova_bm was extended: all is there. A part of it may be a fork's of the same name.
 *
 * @param columns of bm_nodes
 */
export function isExtended(tables: ReadonlySet<string>, columns: readonly string[]): boolean {
  return (
    Object.keys(LEASE_TABLES).every((name) => tables.has(name)) &&
    LEASE_COLUMNS.every(({ name }) => columns.includes(name))
  );
}

const ADDED: ReadonlySet<string> = new Set(LEASE_COLUMNS.map(({ name }) => name));

/** The columns that nova-baremetal or a fork made. */
export function withoutLeases(columns: readonly string[]): readonly string[] {
  return columns.filter((name) => !ADDED.has(name));
}

/** Whether a table of that name is the one that leases use, and not a fork's. */
export function isLeaseTable(name: string, columns: readonly string[]): boolean {
  const own = LEASE_TABLES[name]?.columns.map((column) => column.name) ?? [];
  return own.length > 0 && [...own].sort().join() === [...columns].sort().join();
}
