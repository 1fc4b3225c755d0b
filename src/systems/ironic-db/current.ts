import { isObject, parsedJson } from "../../lib/json.ts";
import { BATCH } from "../../lib/streams.ts";
import type { Claims, Current, Release } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import type { Database } from "../database/open.ts";
import { read, valuesBy } from "../database/read.ts";
import {
  ask,
  blob,
  columnList,
  lower,
  number,
  type RawRow,
  string,
  text,
} from "../database/rows.ts";
import { decode, isAsPlanned } from "./codec.ts";

export interface Ironic {
  readonly database: Database;
  readonly release: Release;
  readonly seal: Seal;
}

export function columnsOf({ database, release }: Ironic, table: Resource, prefix: string): string {
  const names = release[table].map(({ name }) => name);
  return columnList(database, names, prefix);
}

async function rowsBy(
  ironic: Ironic,
  [table, column]: readonly [Resource, string],
  values: readonly string[],
  lock = "",
): Promise<readonly RawRow[]> {
  const { database } = ironic;
  const prefix = table === "node" ? "n" : "p";
  const owner = table === "node" ? "" : `, ${blob(database.engine, "n.uuid")} AS node_uuid`;
  const joined = table === "node" ? "" : "LEFT JOIN {nodes.id n} ON n.id = p.node_id";
  const sql = `SELECT ${columnsOf(ironic, table, prefix)}${owner} FROM {${table}s.${column} ${prefix}} ${joined} WHERE ${prefix}.${column} IN (...) ${lock}`;
  return ask(database, `reading ${table}s`, sql, values);
}

export function toNode({ release, seal }: Ironic, raw: RawRow): Row {
  const row = decode(raw, release.node, seal, text(raw.uuid) ?? "");
  const traits = traitsOf(raw);
  return traits.length === 0 ? row : Object.assign(row, { traits });
}

/** @param node_uuid of its node, if the row lacks it */
export function toPort(
  { release, seal }: Ironic,
  raw: RawRow,
  node_uuid = text(raw.node_uuid),
): Row {
  return Object.assign(decode(raw, release.port, seal, node_uuid ?? ""), { node_uuid });
}

/** A fast check. If it is false, the row is read and compared. */
export function isWritten(
  { release, seal }: Ironic,
  resource: Resource,
  raw: RawRow,
  planned: Row | null,
): boolean {
  const owner = text(raw.node_uuid);
  return planned !== null && isAsPlanned(raw, planned, release[resource], seal, owner);
}

function unique(rows: readonly RawRow[]): readonly RawRow[] {
  return [...new Map(rows.map((row) => [text(row.uuid), row])).values()];
}

export async function readCurrent(ironic: Ironic, claims: Claims): Promise<Current> {
  const hasName = ironic.release.node.some(({ name }) => name === "name");
  const nodes = [
    ...(await rowsBy(ironic, ["node", "uuid"], claims.uuids)),
    ...(await rowsBy(ironic, ["node", "instance_uuid"], claims.instance_uuids)),
    ...(hasName ? await rowsBy(ironic, ["node", "name"], claims.names) : []),
  ];
  const ports = [
    ...(await rowsBy(ironic, ["port", "uuid"], claims.port_uuids)),
    ...(await rowsBy(ironic, ["port", "address"], claims.addresses)),
  ];
  const rows = await withTraits(ironic, unique(nodes));
  return {
    nodes: rows.map((raw) => toNode(ironic, raw)),
    ports: unique(ports).map((raw) => toPort(ironic, raw)),
  };
}

/**
 * Locks the nodes before the first unlocked read. Other transactions cannot add rows to a locked
 * node, so later reads are consistent.
 */
export async function readRows(
  ironic: Ironic,
  nodeUuids: readonly string[],
  portUuids: readonly string[],
  locking: boolean,
): Promise<{ readonly nodes: readonly RawRow[]; readonly ports: readonly RawRow[] }> {
  const lock = !locking || ironic.database.engine === "sqlite" ? "" : "FOR UPDATE";
  const lockPorts = locking && ironic.database.engine === "postgresql" ? "FOR UPDATE OF p" : lock;
  const nodes = await rowsBy(ironic, ["node", "uuid"], nodeUuids, lock);
  const ports = await rowsBy(ironic, ["port", "uuid"], portUuids, lockPorts);
  return { nodes: await withTraits(ironic, nodes), ports };
}

export async function oldestNodes(database: Database, most: number): Promise<readonly string[]> {
  const from = `nodes ORDER BY id LIMIT ${Math.floor(most)}`;
  return (await read(database, { uuid: lower }, from)).map(({ uuid }) => uuid);
}

const COLUMNS = ["instance_info", "driver_info", "driver_internal_info"];

/** Names of the JSON fields with a value, by node uuid. Values are not returned. */
export async function fieldNames(database: Database, { node }: Release, uuids: readonly string[]) {
  const columns = COLUMNS.filter((column) => node.some(({ name }) => name === column));
  const sql = `SELECT ${columnList(database, ["uuid", ...columns])} FROM {nodes.uuid} WHERE uuid IN (...)`;
  const rows = await ask(database, "reading nodes", sql, uuids);
  return new Map(
    rows.map((row) => [
      text(row.uuid) ?? "",
      new Set(columns.flatMap((column) => fieldsOf(column, text(row[column])))),
    ]),
  );
}

function fieldsOf(column: string, json: string | null): readonly string[] {
  const value = parsedJson(json ?? "");
  if (!isObject(value)) return [];
  const names = Object.keys(value).filter((key) => value[key] !== null && value[key] !== "");
  // JSON text, or Juno's `name:value,name:value`.
  const local = /boot_option"?\s*:\s*"?local/.test(JSON.stringify(value.capabilities ?? ""));
  return [...names.map((key) => `${column}.${key}`), ...(local ? [LOCAL] : [])];
}

const LOCAL = "capabilities.boot_option=local";

/** One row per trait. @source facts/ironic.md 1.4 */
export const TRAITS = "node_traits";

export async function withTraits({ database, release }: Ironic, nodes: readonly RawRow[]) {
  if (release.doc.versions.trait === undefined || nodes.length === 0) return nodes;
  const from = `{${TRAITS}.node_id} WHERE node_id IN (...)`;
  const ids = nodes.map(({ id }) => number(id));
  const rows = await read(database, { node_id: number, trait: string }, from, ids);
  const traits = valuesBy(rows, "node_id", "trait");
  return nodes.map((row) => {
    const nodeTraits = traits.get(number(row.id));
    return nodeTraits === undefined ? row : { ...row, traits: nodeTraits.toSorted() };
  });
}

export function traitsOf({ traits }: Row | RawRow): readonly string[] {
  return Array.isArray(traits) ? traits.map(String) : [];
}

export async function insertTraits(
  { database, release }: Ironic,
  rows: readonly Row[],
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  const cells = rows.flatMap((row) =>
    traitsOf(row).map((trait) => [
      ids.get(String(row.uuid)) ?? null,
      trait,
      release.doc.versions.trait ?? null,
      typeof row.created_at === "string" ? row.created_at : null,
    ]),
  );
  for (let at = 0; at < cells.length; at += BATCH) {
    const some = cells.slice(at, at + BATCH);
    const values = some.map(() => "(?,?,?,?)").join(",");
    const sql = `INSERT INTO ${TRAITS} (node_id, trait, version, created_at) VALUES ${values}`;
    await database.run(`writing ${TRAITS}`, () => database.knex.raw(sql, some.flat()));
  }
}
