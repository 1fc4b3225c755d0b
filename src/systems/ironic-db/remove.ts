import { grouped } from "../../lib/grouped.ts";
import { compareRow, sameSecret } from "../../model/compare.ts";
import type { RemovalForecast, ScannedKey } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import type { Database } from "../database/open.ts";
import { indexByText } from "../database/read.ts";
import {
  amongOf,
  ask,
  BINDINGS,
  columnList,
  countRows,
  inPortions,
  integer,
  number,
  quoted,
  type RawRow,
  text,
} from "../database/rows.ts";
import { type Ironic, isWritten, readRows, TRAITS, toNode, toPort, traitsOf } from "./current.ts";

/** The column to find rows of nodes by, and its values. */
type ByNode = (
  table: string,
  nodeIds: readonly number[],
) => Promise<readonly [string, readonly number[]]>;

/** For a rollback. The tool reports missing indexes and never creates them. */
const byKey: ByNode = (_, nodeIds) => Promise.resolve(["node_id", nodeIds]);

/** For a preview: reads a table without an index once instead of once per batch. */
function readOnce({ database }: Ironic): ByNode {
  const indexes = new Map<string, ReturnType<typeof indexByText>>();
  let keys: ReturnType<typeof keysOf> | undefined;
  return async (table, nodeIds) => {
    keys ??= keysOf(database);
    const isScanned = (key: { table: string; column: string }): boolean =>
      key.table === table && key.column === "node_id";
    if (!(await keys).some(isScanned)) return byKey(table, nodeIds);
    const live = "node_id IS NOT NULL";
    const index = indexes.get(table) ?? indexByText(database, table, "node_id", live);
    indexes.set(table, index);
    return ["id", (await index)(nodeIds.map(String))];
  };
}

/** Reasons by node, because of rows that the steps do not have. */
async function readForeign(
  { database, release }: Ironic,
  byNode: ByNode,
  nodeIds: readonly number[],
  isPlanned: (table: string, row: RawRow) => boolean,
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const table of ["ports", ...release.doc.children.operator]) {
    const names = table === "ports" ? ["node_id", "uuid"] : ["node_id"];
    const [column, values] = await byNode(table, nodeIds);
    const sql = `SELECT ${columnList(database, names)} FROM {${table}.${column}} WHERE ${column} IN (...)`;
    for (const row of await ask(database, `reading ${table}`, sql, values))
      if (!isPlanned(table, row))
        found.set(
          number(row.node_id),
          table === "ports"
            ? `port ${text(row.uuid)} was added to it`
            : `${table} has rows of it that this tool did not write`,
        );
  }
  return found;
}

async function deleteBy(
  { database }: Ironic,
  table: string,
  column: string,
  values: readonly number[],
): Promise<void> {
  for (const some of inPortions(values, BINDINGS)) {
    const among = amongOf(database.engine, some);
    // knex's binding type is narrower than the drivers'.
    const bindings = among.values as readonly never[];
    await database.run(`deleting from ${table}`, () =>
      database.knex.raw(`DELETE FROM ${table} WHERE ${column} ${among.sql}`, bindings),
    );
  }
}

/**
 * Skips machines that changed since the load, except for Ironic's own changes, and reserved ones.
 * `locked`: those that only a conductor's lock prevents.
 *
 * @param preview for a preview, which locks no rows
 * @source facts/ironic.md 1.6
 */
async function part(ironic: Ironic, steps: readonly Step[], preview?: ByNode) {
  const uuidsOf = (resource: Step["resource"]): readonly string[] =>
    steps.filter((step) => step.resource === resource).map(({ before }) => String(before?.uuid));
  const { nodes, ports } = await readRows(
    ironic,
    uuidsOf("node"),
    uuidsOf("port"),
    preview === undefined,
  );
  const rows = new Map<string, RawRow>();
  for (const raw of nodes) rows.set(`node:${text(raw.uuid)}`, raw);
  for (const raw of ports) rows.set(`port:${text(raw.uuid)}`, raw);
  const idsOf = (some: readonly Step[]): readonly number[] =>
    some.flatMap(({ id }) => {
      const row = rows.get(id);
      return row === undefined ? [] : [idOf(row)];
    });
  const withTraits = new Set(
    idsOf(steps.filter(({ before }) => before !== null && traitsOf(before).length > 0)),
  );
  const stepIds = new Set(steps.map(({ id }) => id));
  // Traits of the load are compared with the node.
  const foreign = await readForeign(ironic, preview ?? byKey, nodes.map(idOf), (table, row) =>
    table === "ports"
      ? stepIds.has(`port:${text(row.uuid)}`)
      : table === TRAITS && withTraits.has(number(row.node_id)),
  );

  const skipped: { id: string; reason: string }[] = [];
  const locked = new Set<string>();
  const going: Step[] = [];
  const absent: string[] = [];
  const machineOf = ({ resource, before }: Step): string =>
    String(resource === "node" ? before?.uuid : before?.node_uuid);
  // A machine's steps are undone together.
  for (const group of grouped(steps, machineOf).values()) {
    const existing = group.filter(({ id }) => rows.has(id));
    const [fault] = existing.flatMap((step) => reason(step, ironic, rows, foreign) ?? []);
    if (fault !== undefined) {
      skipped.push(...group.map(({ id }) => ({ id, reason: fault })));
      if (fault.startsWith(RESERVED)) for (const { id } of group) locked.add(id);
    } else {
      going.push(...existing);
      absent.push(...group.flatMap(({ id }) => (rows.has(id) ? [] : [id])));
    }
  }
  const ofType = (resource: Step["resource"]) =>
    idsOf(going.filter((step) => step.resource === resource));
  const [nodeIds, portIds] = [ofType("node"), ofType("port")];
  return { going, absent, skipped, locked, portIds, nodeIds, withTraits };
}

/** @throws Error for an id that is no safe integer, which Ironic does not have */
function idOf({ id }: RawRow): number {
  const parsed = integer(id);
  if (parsed === null) throw new Error(`a row has the id ${text(id)}`);
  return parsed;
}

/** Predicts `removeRows` without locks. Tables without an index are read at the first batch. */
export function createJudge(ironic: Ironic): (steps: readonly Step[]) => Promise<RemovalForecast> {
  const preview = readOnce(ironic);
  return async (steps) => {
    const { absent, skipped, locked } = await part(ironic, steps, preview);
    return {
      found: absent,
      skipped: skipped.filter(({ id }) => !locked.has(id)),
      waiting: skipped.filter(({ id }) => locked.has(id)),
    };
  };
}

/** @param ironic in a transaction */
export async function removeRows(ironic: Ironic, steps: readonly Step[]) {
  const parted = await part(ironic, steps);
  const { going, absent, skipped, locked, portIds, nodeIds, withTraits } = parted;
  await deleteBy(ironic, "ports", "id", portIds);
  const traits = nodeIds.filter((id) => withTraits.has(id));
  await deleteBy(ironic, TRAITS, "node_id", traits);
  for (const table of ironic.release.doc.children.conductor)
    await deleteBy(ironic, table, "node_id", nodeIds);
  await deleteBy(ironic, "nodes", "id", nodeIds);
  return { done: going.map(({ id }) => id), found: absent, skipped, locked };
}

const RESERVED = "reserved by conductor ";

/** The reason to keep a row, or null to delete it. */
function reason(
  step: Step,
  ironic: Ironic,
  rows: ReadonlyMap<string, RawRow>,
  foreign: ReadonlyMap<number, string>,
): string | null {
  const raw = rows.get(step.id) ?? {};
  if (step.resource === "node") {
    if (text(raw.reservation) !== null) return `${RESERVED}${text(raw.reservation)}`;
    const foreignReason = foreign.get(number(raw.id));
    if (foreignReason !== undefined) return foreignReason;
  }
  if (isWritten(ironic, step.resource, raw, step.before)) return null;
  const row: Row = step.resource === "node" ? toNode(ironic, raw) : toPort(ironic, raw);
  const { differs } = compareRow(step.before ?? {}, row, sameSecret(ironic.seal));
  return differs.length === 0
    ? null
    : `changed since it was loaded: ${differs.map(({ field }) => field).join(", ")}`;
}

/**
 * Foreign keys to nodes without an index (MySQL always creates one). Partial indexes do not count,
 * except NOT NULL on PostgreSQL.
 */
const KEYS = {
  postgresql: `SELECT k.relname AS name, a.attname AS col,
      CASE WHEN NOT has_table_privilege(k.oid, 'SELECT')
        THEN greatest(k.reltuples::bigint, pg_stat_get_live_tuples(k.oid), 0) END AS about
    FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'nodes'::regclass AND pg_table_is_visible(k.oid) AND NOT EXISTS
      (SELECT 1 FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
       WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indkey[0] = c.conkey[1] AND m.amname IN ('btree', 'hash')
         AND coalesce(pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)', true))
    ORDER BY 1, 2`,
  sqlite: `SELECT m.name AS name, f."from" AS col, NULL AS about
    FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' AND lower(f."table") = 'nodes' AND f.seq = 0 AND NOT EXISTS
      (SELECT 1 FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i
       WHERE l.partial = 0 AND i.seqno = 0 AND i.name = f."from")
    ORDER BY 1, 2`,
} as const;

/** `about`: an estimate, if the rows cannot be counted. */
async function keysOf(database: Database) {
  const { engine } = database;
  if (engine === "mysql") return [];
  const found = await ask(database, "looking for indexes", KEYS[engine]);
  return found.map(({ name, col, about }) => ({
    ...{ table: text(name) ?? "", column: text(col) ?? "", about: integer(about ?? null) },
  }));
}

/** Tables that the server scans for each deleted node, with their number of rows. */
export async function scannedKeys(database: Database): Promise<readonly ScannedKey[]> {
  const found: ScannedKey[] = [];
  for (const { about, ...key } of await keysOf(database)) {
    const rows = about ?? (await countRows(database, quoted(database.engine, key.table)));
    found.push({ ...key, rows });
  }
  return found;
}
