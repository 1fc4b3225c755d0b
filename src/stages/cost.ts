/** A table that the server reads whole for each node that is deleted: its foreign key has no index. */
interface Scanned {
  readonly table: string;
  readonly column: string;
  readonly rows: number;
}

/** Seconds a row that is read costs, dead ones too: 5,000 nodes took 3 to 5 s, 10,000 18 to 36 s. */
const ROW = 1e-7;
/** Seconds that are not worth a word. */
const SHORT = 10;

/** What deleting so many nodes will cost the server, for people; null where it is nothing to speak of. */
export function costOfDelete(nodes: number, scanned: readonly Scanned[]): string | null {
  const seconds = scanned.reduce((sum, { rows }) => sum + nodes * rows * ROW, 0);
  if (seconds < SHORT) return null;
  const columns = scanned.filter(({ rows }) => rows > 0);
  const names = columns.map(({ table, column }) => `${table}.${column}`).join(", ");
  const long = seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;
  return (
    `Taking back ${nodes} nodes will keep the server busy for about ${long}: for each node it reads every row of a table ` +
    `without an index (${names}). With an index there, which you may drop afterwards, it takes seconds.`
  );
}
