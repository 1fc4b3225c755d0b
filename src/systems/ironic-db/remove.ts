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
  quoted,
  type RawRow,
  text,
} from "../database/rows.ts";
import { type Ironic, isWritten, readRows, TRAITS, toNode, toPort, traitsOf } from "./current.ts";

/** The column to find rows of nodes by, and its values. */
type ByNode = (
  table: string,
  nodeIds: readonly number[],
) => Promise<{ readonly column: "node_id" | "id"; readonly values: readonly number[] }>;

/** For a rollback. The tool reports missing indexes and never creates them. */
const byKey: ByNode = (_, nodeIds) => Promise.resolve({ column: "node_id", values: nodeIds });

/** For a preview: reads a table without an index once instead of once per batch. */
function readOnce({ database }: Ironic): ByNode {
  const indexes = new Map<string, ReturnType<typeof indexByText>>();
  let scanned: Promise<ReadonlySet<string>> | undefined;
  return async (table, nodeIds) => {
    scanned ??= scannedByNode(database);
    if (!(await scanned).has(table)) return byKey(table, nodeIds);
    const live = "node_id IS NOT NULL";
    const index = indexes.get(table) ?? indexByText(database, table, "node_id", live);
    indexes.set(table, index);
    return { column: "id", values: (await index)(nodeIds.map(String)) };
  };
}

async function readForeign(
  ironic: Ironic,
  byNode: ByNode,
  nodeIds: readonly number[],
  plannedIds: ReadonlySet<string>,
  withTraits: ReadonlySet<number>,
): Promise<ReadonlyMap<number, string>> {
  const { database, release } = ironic;
  const found = new Map<number, string>();
  const rowsOf = async (table: string, names: readonly string[]): Promise<readonly RawRow[]> => {
    const { column, values } = await byNode(table, nodeIds);
    const sql = `SELECT ${columnList(database, names)} FROM {${table}.${column}} WHERE ${column} IN (...)`;
    return ask(database, `reading ${table}`, sql, values);
  };
  const ports = await rowsOf("ports", ["node_id", "uuid"]);
  for (const { node_id, uuid } of ports)
    if (!plannedIds.has(`port:${text(uuid)}`))
      found.set(integer(node_id) ?? 0, `port ${text(uuid)} was added to it`);
  for (const table of release.doc.children.operator) {
    const rows = await rowsOf(table, ["node_id"]);
    // Traits of the load are compared with the node.
    for (const { node_id } of rows)
      if (table !== TRAITS || !withTraits.has(integer(node_id) ?? 0))
        found.set(integer(node_id) ?? 0, `${table} has rows of it that this tool did not write`);
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
  const existing = await readRows(ironic, uuidsOf("node"), uuidsOf("port"), preview === undefined);
  const nodes = new Map(existing.nodes.map((raw) => [`node:${text(raw.uuid)}`, raw]));
  const ports = new Map(existing.ports.map((raw) => [`port:${text(raw.uuid)}`, raw]));
  const ids = existing.nodes.map(({ id }) => integer(id) ?? 0);
  const withTraits = new Set(
    steps.flatMap(({ id, before }) => {
      const raw = nodes.get(id);
      const hasTraits = raw !== undefined && before !== null && traitsOf(before).length > 0;
      return hasTraits ? [integer(raw.id) ?? 0] : [];
    }),
  );
  const stepIds = new Set(steps.map(({ id }) => id));
  const foreign = await readForeign(ironic, preview ?? byKey, ids, stepIds, withTraits);

  const skipped: { id: string; reason: string }[] = [];
  const locked = new Set<string>();
  const going: Step[] = [];
  const absent: string[] = [];
  const machineOf = ({ resource, before }: Step): string =>
    String(resource === "node" ? before?.uuid : before?.node_uuid);
  // A machine's steps are undone together.
  for (const group of grouped(steps, machineOf).values()) {
    const reasons = group.map((step) => reason(step, ironic, { nodes, ports, foreign }));
    const fault = reasons.find((text) => text !== null && text !== "gone");
    if (typeof fault === "string") {
      skipped.push(...group.map(({ id }) => ({ id, reason: fault })));
      if (fault.startsWith(RESERVED)) for (const { id } of group) locked.add(id);
    } else
      group.forEach((step, at) => {
        if (reasons[at] === "gone") absent.push(step.id);
        else going.push(step);
      });
  }
  const idsOf = (rows: ReadonlyMap<string, RawRow>): readonly number[] =>
    going.flatMap(({ id }) => {
      const row = rows.get(id);
      return row === undefined ? [] : [idOf(row)];
    });
  return {
    going,
    absent,
    skipped,
    locked,
    portIds: idsOf(ports),
    nodeIds: idsOf(nodes),
    withTraits,
  };
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

interface CurrentRows {
  readonly nodes: ReadonlyMap<string, RawRow>;
  readonly ports: ReadonlyMap<string, RawRow>;
  readonly foreign: ReadonlyMap<number, string>;
}

/** The reason to keep a row, `gone` if it does not exist, or null to delete it. */
function reason(step: Step, ironic: Ironic, { nodes, ports, foreign }: CurrentRows): string | null {
  const raw = (step.resource === "node" ? nodes : ports).get(step.id);
  if (raw === undefined) return "gone";
  if (step.resource === "node") {
    if (text(raw.reservation) !== null) return `${RESERVED}${text(raw.reservation)}`;
    const foreignReason = foreign.get(integer(raw.id) ?? 0);
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

async function scannedByNode(database: Database): Promise<ReadonlySet<string>> {
  const keys = await keysOf(database);
  return new Set(keys.filter(({ column }) => column === "node_id").map(({ table }) => table));
}
