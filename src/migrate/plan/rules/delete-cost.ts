import { counted } from "../../../lib/text.ts";
import type { ScannedKey } from "../../../model/ironic/target.ts";

/** Up to this many rows, a rollback takes seconds without an index: 5,000 nodes took 3 to 5 s. */
const MANY = 5000;

/**
 * The reason why deletion is slow, and statements for the owner of the tables, because the tool
 * never changes Ironic's schema. Null if deletion is fast.
 */
export function slowDelete(
  nodes: number,
  keys: readonly ScannedKey[],
): { readonly what: string; readonly fix: string; readonly note: string } | null {
  const slow = keys.filter(({ rows }) => rows > MANY);
  if (nodes <= MANY || slow.length === 0) return null;
  const indexes = slow.map(({ table, column }) => ({
    ...{ table, column },
    // PostgreSQL allows names of up to 63 bytes.
    index: `nova2ironic_${table}_${column}`.slice(0, 63),
  }));
  const names = slow.map(({ table, column }) => `${table}.${column}`).join(", ");
  const create = indexes.map(
    ({ index, table, column }) => `CREATE INDEX ${index} ON ${table} (${column});`,
  );
  const drop = indexes.map(({ index }) => `DROP INDEX ${index};`);
  const what = `Rolling back ${counted(nodes, "node")} is slow: for each node the server reads every row of a table without an index (${names}).`;
  const fix = `before a rollback the owner of the tables runs: ${create.join(" ")} and afterwards: ${drop.join(" ")}`;
  return { what, fix, note: `${what} With an index it takes seconds: ${fix}` };
}

/** The keys after a plan is loaded. @param ports that the plan creates */
export function onceLoaded(keys: readonly ScannedKey[], ports: number): readonly ScannedKey[] {
  return keys.map((key) =>
    key.table === "ports" ? { ...key, rows: Math.max(key.rows, ports) } : key,
  );
}
