import type { Column, Table } from "../mapping.ts";

export interface Lease {
  readonly host: string;
  readonly epoch: number;
  /** Last heartbeat in milliseconds since 1970, by the server's clock. */
  readonly heartbeat: number;
  /** Milliseconds since then by the same clock. Negative if the heartbeat is in the future. */
  readonly age: number;
  /** Milliseconds. */
  readonly ttl: number;
  /** Whether its agent takes over machines of dead hosts. */
  readonly takes: boolean | null;
  readonly fenced_by: string | null;
  /** Milliseconds since it was fenced, else null. */
  readonly fenced: number | null;
}

/** A heartbeat too far in the future is from another clock, and would hide a dead host. */
export function lasts({ age, ttl }: Pick<Lease, "age" | "ttl">): boolean {
  return Math.abs(age) <= ttl;
}

function textColumn(name: string, length: number, empty = true): Column {
  return { name, type: "string", length, null: empty };
}

function milliseconds(name: string, empty: boolean): Column {
  return { name, type: "bigint", null: empty };
}

/** Columns that `host schema extend` adds to bm_nodes. An INSERT of nova-baremetal omits them. */
export const LEASE_COLUMNS: readonly Column[] = [
  // UTC, for display.
  { name: "service_heartbeat_at", type: "datetime", null: true },
  // The heartbeat in milliseconds since 1970 by the server's clock. Only this is compared.
  milliseconds("service_heartbeat_ms", true),
  // Incremented at each change of the owner.
  { name: "service_epoch", type: "bigint", null: false, default: 0 },
  // task_state before `migrating`.
  textColumn("prev_task_state", 255),
];

/** Additional tables. Times are milliseconds since 1970 by the server's clock. */
export const LEASE_TABLES: { readonly [name: string]: Table } = {
  bm_service_leases: table([
    textColumn("host", 255, false),
    { name: "epoch", type: "bigint", null: false },
    milliseconds("heartbeat_ms", false),
    milliseconds("ttl_ms", false),
    textColumn("my_ip", 64),
    textColumn("tftp_root", 255),
    { name: "takes", type: "boolean", null: true },
    textColumn("fenced_by", 255),
    milliseconds("fenced_at_ms", true),
  ]),
  bm_locks: table([
    // `host:NAME`, `node:UUID` or `instance:UUID`.
    textColumn("resource", 300, false),
    textColumn("owner", 255),
    textColumn("nonce", 36),
    { name: "token", type: "bigint", null: false, default: 0 },
    { name: "expires_ms", type: "bigint", null: false, default: 0 },
  ]),
  // Boot data that is otherwise only on the disk of the host.
  bm_boot_records: table([
    textColumn("instance_uuid", 36, false),
    textColumn("host", 255, false),
    textColumn("root_uuid", 36),
    textColumn("kernel_id", 255),
    textColumn("ramdisk_id", 255),
    milliseconds("seen_ms", false),
  ]),
};

/** The first column is the primary key. */
function table(columns: readonly [Column, ...Column[]]): Table {
  return { columns, primary: [columns[0].name], unique: [], foreign: [], index: [] };
}

/** A single table or column may be a fork's. @param columns of bm_nodes */
export function isExtended(tables: ReadonlySet<string>, columns: readonly string[]): boolean {
  return (
    Object.keys(LEASE_TABLES).every((name) => tables.has(name)) &&
    LEASE_COLUMNS.every(({ name }) => columns.includes(name))
  );
}

const ADDED: ReadonlySet<string> = new Set(LEASE_COLUMNS.map(({ name }) => name));

/** Columns of nova-baremetal or a fork. */
export function withoutLeases(columns: readonly string[]): readonly string[] {
  return columns.filter((name) => !ADDED.has(name));
}

/** Whether a table is our lease table, not a fork's of the same name. */
export function isLeaseTable(name: string, columns: readonly string[]): boolean {
  const expected = LEASE_TABLES[name]?.columns.map((column) => column.name) ?? [];
  return expected.length > 0 && [...expected].sort().join() === [...columns].sort().join();
}
