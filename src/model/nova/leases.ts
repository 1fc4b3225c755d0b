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

function text(name: string, length: number, empty = true): Column {
  return { name, type: "string", length, null: empty };
}

function number(name: string, rest: Pick<Column, "default"> & { null?: true } = {}): Column {
  return { name, type: "bigint", null: false, ...rest };
}

/** Columns that `host schema extend` adds to bm_nodes. An INSERT of nova-baremetal omits them. */
export const LEASE_COLUMNS: readonly Column[] = [
  // UTC, for display.
  { name: "service_heartbeat_at", type: "datetime", null: true },
  // The heartbeat in milliseconds since 1970 by the server's clock. Only this is compared.
  number("service_heartbeat_ms", { null: true }),
  // Incremented at each change of the owner.
  number("service_epoch", { default: 0 }),
  // task_state before `migrating`.
  text("prev_task_state", 255),
];

/** Additional tables. Times are milliseconds since 1970 by the server's clock. */
export const LEASE_TABLES: { readonly [name: string]: Table } = {
  bm_service_leases: table([
    ...[text("host", 255, false), number("epoch"), number("heartbeat_ms"), number("ttl_ms")],
    ...[
      text("my_ip", 64),
      text("tftp_root", 255),
      { name: "takes", type: "boolean", null: true } as const,
    ],
    ...[text("fenced_by", 255), number("fenced_at_ms", { null: true })],
  ]),
  bm_locks: table([
    // `host:NAME`, `node:UUID` or `instance:UUID`.
    ...[text("resource", 300, false), text("owner", 255), text("nonce", 36)],
    ...[number("token", { default: 0 }), number("expires_ms", { default: 0 })],
  ]),
  // Boot data that is otherwise only on the disk of the host.
  bm_boot_records: table([
    ...[text("instance_uuid", 36, false), text("host", 255, false), text("root_uuid", 36)],
    ...[text("kernel_id", 255), text("ramdisk_id", 255), number("seen_ms")],
  ]),
};

/** The first column is the primary key. */
function table(columns: readonly Column[]): Table {
  const [{ name = "" } = {}] = columns;
  return { columns, primary: [name], unique: [], foreign: [], index: [] };
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
