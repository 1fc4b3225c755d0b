import type { ScannedKey } from "../model/target.ts";

/** Seconds a row that is read costs, dead ones too: 5,000 nodes took 3 to 5 s, 10,000 18 to 36 s. */
const ROW = 1e-7;
/** Seconds that are not worth a word. */
const SHORT = 10;
/** Seconds of the server's that an index is worth: to make it takes a tenth of that. */
const WORTH = 1;

/** Keys that make deleting so many nodes slow enough for an index. */
export function worthAnIndex(nodes: number, keys: readonly ScannedKey[]): readonly ScannedKey[] {
  return keys.filter(({ rows }) => nodes * rows * ROW >= WORTH);
}

/** What deleting so many nodes will cost the server, for people; null where it is nothing to speak of. */
export function costOfDelete(nodes: number, keys: readonly ScannedKey[]): string | null {
  const slow = worthAnIndex(nodes, keys);
  const [ours, others] = [slow.filter((key) => key.ours), slow.filter((key) => !key.ours)];
  const seconds = others.reduce((sum, { rows }) => sum + nodes * rows * ROW, 0);
  const names = (of: readonly ScannedKey[]): string =>
    of.map(({ table, column }) => `${table}.${column}`).join(", ");
  const lent =
    ours.length === 0
      ? null
      : `Rollback makes an index on ${names(ours)} first, and drops it afterwards: without one the server reads the whole table for each node.`;
  if (seconds < SHORT) return lent;
  const long = seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;
  const statements = others.map(
    ({ index, table, column }) => `CREATE INDEX ${index} ON ${table} (${column});`,
  );
  const alone =
    `Taking back ${nodes} nodes will keep the server busy for about ${long}: for each node it reads every row of a table ` +
    `without an index (${names(others)}), and this user may not make one. With it rollback takes seconds; its owner runs: ` +
    `${statements.join(" ")} and afterwards: ${others.map(({ index }) => `DROP INDEX ${index};`).join(" ")}`;
  return lent === null ? alone : `${lent}\n${alone}`;
}
