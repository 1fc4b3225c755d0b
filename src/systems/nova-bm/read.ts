import { setImmediate as turn } from "node:timers/promises";
import { grouped } from "../../lib/grouped.ts";
import { normaliseMac } from "../../lib/mac.ts";
import { prefetch } from "../../lib/streams.ts";
import type { Engine } from "../../model/database.ts";
import { type Finding, merge } from "../../model/findings.ts";
import type { BmInterface, BmNode, Duplicates, Machine } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { inOrder, quoted } from "../database/read.ts";
import { ask, blob, digits, type RawRow, text } from "../database/rows.ts";
import { type ReadRow, rowReader } from "./columns.ts";
import { readShared } from "./duplicates.ts";
import type { readSchema } from "./open.ts";

/** `ignored`: rows of tables that are not migrated. */
type NovaBmSchema = Awaited<ReturnType<typeof readSchema>>;

/** Machines in order of bm_nodes.id, and interfaces without a machine. */
export interface MachineBatch {
  readonly machines: readonly Machine[];
  readonly orphans: readonly BmInterface[];
}

type SharedValues = Awaited<ReturnType<typeof readShared>>;

interface Reading {
  readonly database: Database;
  readonly schema: NovaBmSchema;
}

/** Four batches are in memory: read, converted, processed and written. */
const NODES = 300;
const INTERFACES = 5000;
/** For the first pages, before the size of rows is known. */
const FIRST = { nodes: 50, interfaces: 500 };
/** Limits a page of complete machines. */
const ROWS = 10_000;
/** Limits a page, because a site's own columns may be large. */
const BYTES = 4 * 1024 * 1024;
const NONE: readonly number[] = [];

/**
 * Reads one snapshot, so that nodes and interfaces match, in batches.
 *
 * @source facts/nova-bm.md 1.3, 1.5, 1.9
 */
export async function* readMachines(
  opened: Database,
  schema: NovaBmSchema,
  seal: Seal,
): AsyncGenerator<MachineBatch> {
  const database = await readTransaction(opened);
  try {
    const shared = await readShared(database, schema.columns.bm_nodes ?? []);
    const readNode = rowReader(
      "bm_nodes",
      schema.columns.bm_nodes ?? [],
      seal,
      (raw) => text(raw.uuid)?.toLowerCase() ?? `bm_nodes:${text(raw.id)}`,
    );
    const readInterface = rowReader(
      "bm_interfaces",
      schema.columns.bm_interfaces ?? [],
      seal,
      (raw) => `bm_nodes:${text(raw.bm_node_id)}`,
    );
    const reading: Reading = { database, schema };
    const raw = (value: unknown): unknown => value;
    const names = schema.columns.bm_interfaces ?? [];
    const fields = Object.fromEntries(names.map((name) => [name, raw]));
    const nameless = "bm_node_id IS NULL";
    for await (const page of inOrder(database, fields, "bm_interfaces", nameless))
      if (page.length > 0)
        yield { machines: [], orphans: page.map((row) => interfaceOf(readInterface(row))) };
    for await (const { nodes, interfaces } of prefetch(pages(reading))) {
      await turn(); // sends the next query before this page is processed
      yield join(nodes.map(readNode), interfaces.map(readInterface), shared, database.engine);
    }
  } finally {
    await database.close();
  }
}

/** readSchema ensures these columns. */
function interfaceOf({ row }: ReadRow): BmInterface {
  return row as BmInterface;
}

/** Ids stay plain columns, so that an index can sort them. */
function quote({ engine }: Database, columns: readonly string[]): string {
  return columns
    .map((name) => {
      const column = quoted(engine, name);
      const isId = name === "id" || name === "bm_node_id";
      return isId ? column : `${blob(engine, column)} AS ${column}`;
    })
    .join(",");
}

/** Adapts the number of rows to the size of the last page. */
function createPace(most: number, first: number) {
  let limit = first;
  return {
    limit: () => limit,
    took(rows: readonly RawRow[]): number {
      const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
      const affordable = Math.floor((BYTES * rows.length) / Math.max(bytes, 1));
      // Later rows may be larger, so the number at most doubles.
      if (rows.length > 0) limit = Math.max(1, Math.min(most, affordable, 2 * limit));
      return bytes;
    },
  };
}

type Pace = ReturnType<typeof createPace>;

/** Counts texts and bytes. Other values are small. */
function bytesOf(row: RawRow): number {
  let bytes = 0;
  for (const name in row) {
    const value = row[name];
    if (typeof value === "string") bytes += value.length;
    else if (value instanceof ArrayBuffer || value instanceof Uint8Array) bytes += value.byteLength;
  }
  return bytes;
}

/** Sorted by bm_node_id first, so that servers use its index instead of a scan by id. */
async function* interfacesBetween(
  { database, schema }: Reading,
  after: string | null,
  last: string | null,
  pace: Pace,
): AsyncGenerator<readonly RawRow[]> {
  const columns = quote(database, schema.columns.bm_interfaces ?? []);
  const upTo = last === null ? "" : `AND bm_node_id <= ${last}`;
  let from = after === null ? "bm_node_id IS NOT NULL" : `bm_node_id > ${after}`;
  for (;;) {
    const limit = pace.limit();
    const sql = `SELECT ${columns} FROM bm_interfaces WHERE ${from} ${upTo} ORDER BY bm_node_id, id LIMIT ${limit}`;
    const page = await ask(database, "reading bm_interfaces", sql);
    yield page;
    if (page.length < limit) return;
    const [node, id] = [digits(page.at(-1)?.bm_node_id), digits(page.at(-1)?.id)];
    from = `bm_node_id >= ${node} AND (bm_node_id > ${node} OR id > ${id})`;
  }
}

interface Page {
  readonly nodes: readonly RawRow[];
  readonly interfaces: readonly RawRow[];
}

async function* pages(reading: Reading): AsyncGenerator<Page> {
  const { database, schema } = reading;
  const columns = quote(database, schema.columns.bm_nodes ?? []);
  const pace = createPace(NODES, FIRST.nodes);
  const paceOfInterfaces = createPace(INTERFACES, FIRST.interfaces);
  for (let after: string | null = null; ; ) {
    const limit = pace.limit();
    const where: string = after === null ? "" : `WHERE id > ${after}`;
    const sql = `SELECT ${columns} FROM bm_nodes ${where} ORDER BY id LIMIT ${limit}`;
    const nodes: readonly RawRow[] = await ask(database, "reading bm_nodes", sql);
    pace.took(nodes);
    const last = nodes.length < limit ? null : digits(nodes.at(-1)?.id);
    yield* cut(nodes, interfacesBetween(reading, after, last, paceOfInterfaces), paceOfInterfaces);
    if (last === null) return;
    after = last;
  }
}

/** Splits large results into pages of complete machines. */
async function* cut(
  nodes: readonly RawRow[],
  answers: AsyncIterable<readonly RawRow[]>,
  { took }: Pace,
): AsyncGenerator<Page> {
  let rest = nodes;
  let found: RawRow[] = [];
  let bytes = 0;
  for await (const answer of answers) {
    bytes += took(answer);
    for (const row of answer) found.push(row);
    if (found.length < ROWS && bytes < BYTES) continue;
    // The last node may have further interfaces.
    const open = Number(digits(found.at(-1)?.bm_node_id));
    const isBefore = (id: unknown): boolean => Number(digits(id)) < open;
    const interfaces = found.filter((row) => isBefore(row.bm_node_id));
    if (interfaces.length === 0) continue;
    yield { nodes: rest.filter(({ id }) => isBefore(id)), interfaces };
    rest = rest.filter(({ id }) => !isBefore(id));
    found = found.slice(interfaces.length);
    bytes = found.reduce((sum, row) => sum + bytesOf(row), 0);
  }
  yield { nodes: rest, interfaces: found };
}

function join(
  nodes: readonly ReadRow[],
  interfaces: readonly ReadRow[],
  shared: SharedValues,
  engine: Engine,
): MachineBatch {
  const byNode = new Map(grouped(interfaces, (row) => interfaceOf(row).bm_node_id ?? -1));
  const machines = nodes.map(({ row, findings, decoded }) => {
    // rowReader returns every column of ALWAYS.
    const node = engine === "mysql" ? withoutPadding(row as BmNode) : (row as BmNode);
    const rows = byNode.get(node.id) ?? [];
    const nodeInterfaces = rows.map(interfaceOf);
    byNode.delete(node.id);
    const machine = {
      node,
      interfaces: nodeInterfaces,
      nova: null,
      duplicates: duplicatesOf(node, nodeInterfaces, shared),
      findings: merge([findings, faultsOf(node, rows)]),
    };
    return decoded === undefined ? machine : { ...machine, decoded };
  });
  return { machines, orphans: [...byNode.values()].flat().map(interfaceOf) };
}

/** MySQL ignores trailing blanks in comparisons, so host `bm1` also has the machines of `bm1 `. */
function withoutPadding(node: BmNode): BmNode {
  const host = node.service_host;
  return host?.endsWith(" ") === true ? { ...node, service_host: host.trimEnd() } : node;
}

const SOUND: readonly Finding[] = [];

/** Interface findings. A deleted machine gets no ports, so its interfaces do not matter. */
function faultsOf(node: BmNode, rows: readonly ReadRow[]): readonly Finding[] {
  return node.deleted === true || rows.every(({ findings }) => findings.length === 0)
    ? SOUND
    : rows.flatMap(({ findings }) => findings);
}

const SOLE = { uuid: NONE, instance_uuid: NONE, holders: [], address: {} };

function duplicatesOf(
  node: BmNode,
  interfaces: readonly BmInterface[],
  shared: SharedValues,
): Duplicates {
  if (shared.none) return SOLE;
  const other = (ids: readonly number[] | undefined): readonly number[] =>
    ids === undefined || node.deleted === true ? NONE : ids.filter((id) => id !== node.id);
  const address: Record<string, readonly number[]> = {};
  if (shared.address.size > 0 && node.deleted !== true)
    for (const text of [node.prov_mac_address, ...interfaces.map((row) => row.address)]) {
      const mac = typeof text === "string" ? normaliseMac(text) : null;
      const ids = mac === null ? undefined : shared.address.get(mac.replaceAll(":", ""));
      const duplicates = other(ids);
      if (mac !== null && duplicates.length > 0) address[mac] = duplicates;
    }
  const instance = node.instance_uuid?.toLowerCase() ?? "";
  const instance_uuid = other(shared.instance_uuid.get(instance));
  return {
    uuid: other(shared.uuid.get(node.uuid?.toLowerCase() ?? "")),
    instance_uuid,
    holders:
      node.deleted === true
        ? (shared.movedTo.get(instance) ?? [])
        : instance_uuid.map((id) => shared.uuids.get(id) ?? ""),
    address,
  };
}
