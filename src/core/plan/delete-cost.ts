import type { ScannedKey } from "../../model/target.ts";

/** Seconds a row that is read costs, dead ones too: 5,000 nodes took 3 to 5 s, 10,000 18 to 36 s. */
let row = 1e-7;
/** Seconds that are not worth a word. */
const SHORT = 10;
/** Seconds of the server's that an index is worth: to make it takes a tenth of that. */
const WORTH = 1;

/** For tests of what is done then: of a thousand machines no table is worth an index. @param seconds that a row costs */
export function readSlower(seconds: number): void {
  row = seconds;
}

/** Keys that make deleting so many nodes slow enough for an index. */
export function worthAnIndex(nodes: number, keys: readonly ScannedKey[]): readonly ScannedKey[] {
  return keys.filter(({ rows }) => nodes * rows * row >= WORTH);
}

/** That a rollback of so many nodes makes indexes of its own, for people; null where it makes none. */
export function lentIndexes(nodes: number, keys: readonly ScannedKey[]): string | null {
  const ours = worthAnIndex(nodes, keys).filter((key) => key.ours);
  return ours.length === 0
    ? null
    : `Rollback makes an index on ${named(ours)} and drops it afterwards: without one the server reads the whole table for each node.`;
}

/** What deleting so many nodes costs the server where we may make no index, and what who may runs. */
export function slowDelete(
  nodes: number,
  keys: readonly ScannedKey[],
): { readonly what: string; readonly fix: string } | null {
  const others = worthAnIndex(nodes, keys).filter((key) => !key.ours);
  const seconds = others.reduce((sum, { rows }) => sum + nodes * rows * row, 0);
  if (seconds < SHORT) return null;
  const long = seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;
  const statements = others.map(
    ({ index, table, column }) => `CREATE INDEX ${index} ON ${table} (${column});`,
  );
  return {
    what:
      `Taking back ${nodes} nodes will keep the server busy for about ${long}: for each node it reads every row of a ` +
      `table without an index (${named(others)}), and this user does not own it.`,
    fix: `before a rollback its owner runs: ${statements.join(" ")} and afterwards: ${others.map(({ index }) => `DROP INDEX ${index};`).join(" ")}`,
  };
}

/** Keys as they will be once a plan is loaded. @param ports it makes */
export function onceLoaded(keys: readonly ScannedKey[], ports: number): readonly ScannedKey[] {
  return keys.map((key) =>
    key.table === "ports" ? { ...key, rows: Math.max(key.rows, ports) } : key,
  );
}

function named(keys: readonly ScannedKey[]): string {
  return keys.map(({ table, column }) => `${table}.${column}`).join(", ");
}
