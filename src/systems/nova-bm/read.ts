import { setImmediate as turn } from "node:timers/promises";
import { grouped } from "../../lib/grouped.ts";
import { normaliseMac } from "../../lib/mac.ts";
import { prefetch } from "../../lib/streams.ts";
import type { Engine } from "../../model/database.ts";
import { type Finding, merge } from "../../model/findings.ts";
import type { BmInterface, BmNode, Duplicates, Machine } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { inOrder } from "../database/read.ts";
import { ask, blob, digits, quoted, type RawRow, text } from "../database/rows.ts";
import { type ReadRow, rowReader } from "./columns.ts";
import { readShared } from "./duplicates.ts";
import type { readSchema } from "./open.ts";

/** Machines in order of bm_nodes.id, and interfaces without a machine. */
export interface MachineBatch {
  readonly machines: readonly Machine[];
  readonly orphans: readonly BmInterface[];
}

type SharedValues = Awaited<ReturnType<typeof readShared>>;

/** Machines per page. Four pages are in memory: read, converted, processed and written. */
const NODES = 300;
const NONE: readonly number[] = [];

/**
 * Reads one snapshot, so that nodes and interfaces match, in batches.
 *
 * @source facts/nova-bm.md 1.3, 1.5, 1.9
 */
export async function* readMachines(
  opened: Database,
  { columns }: Pick<Awaited<ReturnType<typeof readSchema>>, "columns">,
  seal: Seal,
): AsyncGenerator<MachineBatch> {
  const database = await readTransaction(opened);
  const { bm_nodes = [], bm_interfaces = [] } = columns;
  try {
    const shared = await readShared(database, bm_nodes);
    const readNode = rowReader(
      "bm_nodes",
      bm_nodes,
      seal,
      (raw) => text(raw.uuid)?.toLowerCase() ?? `bm_nodes:${text(raw.id)}`,
    );
    const readInterface = rowReader(
      "bm_interfaces",
      bm_interfaces,
      seal,
      (raw) => `bm_nodes:${text(raw.bm_node_id)}`,
    );
    const raw = (value: unknown): unknown => value;
    const fields = Object.fromEntries(bm_interfaces.map((name) => [name, raw]));
    const nameless = "bm_node_id IS NULL";
    for await (const page of inOrder(database, fields, "bm_interfaces", nameless))
      if (page.length > 0)
        yield { machines: [], orphans: page.map((row) => interfaceOf(readInterface(row))) };
    for await (const page of prefetch(pages(database, bm_nodes, bm_interfaces))) {
      await turn(); // sends the next query before this page is processed
      const interfaces = page.interfaces.map(readInterface);
      yield join(page.nodes.map(readNode), interfaces, shared, database.engine);
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

async function* pages(
  database: Database,
  nodeColumns: readonly string[],
  interfaceColumns: readonly string[],
) {
  const node = `SELECT ${quote(database, nodeColumns)} FROM bm_nodes`;
  const nic = `SELECT ${quote(database, interfaceColumns)} FROM bm_interfaces`;
  for (let after: string | null = null; ; ) {
    const next: string = after === null ? "" : `WHERE id > ${after}`;
    const sql = `${node} ${next} ORDER BY id LIMIT ${NODES}`;
    const nodes: readonly RawRow[] = await ask(database, "reading bm_nodes", sql);
    const last = nodes.length < NODES ? null : digits(nodes.at(-1)?.id);
    const from = after === null ? "bm_node_id IS NOT NULL" : `bm_node_id > ${after}`;
    const upTo = last === null ? "" : `AND bm_node_id <= ${last}`;
    // Sorted by bm_node_id first, so that servers use its index instead of a scan by id.
    const belonging = `${nic} WHERE ${from} ${upTo} ORDER BY bm_node_id, id`;
    yield { nodes, interfaces: await ask(database, "reading bm_interfaces", belonging) };
    if (last === null) return;
    after = last;
  }
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
