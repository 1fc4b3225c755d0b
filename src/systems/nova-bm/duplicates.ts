import { groupedBy } from "../../lib/grouped.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { ask, blob, near, type RawRow, text } from "../database/rows.ts";

/** Values of several live rows, with up to five bm_nodes ids each. */
type Shared = ReadonlyMap<string, readonly number[]>;

/** Removes a MAC's separators, in every engine's SQL. */
const HEX = (column: string): string =>
  `replace(replace(replace(lower(${column}),':',''),'-',''),'.','')`;

/** Lower-case text. A copy on PostgreSQL may have the type uuid. */
function lowerOf({ engine }: Database, column: string): string {
  return engine === "postgresql" ? `lower(CAST(${column} AS text))` : `lower(${column})`;
}

function collect(rows: readonly RawRow[]): Shared {
  const shared = new Map<string, number[]>();
  for (const { v, id, deleted, node_deleted } of rows) {
    if (softDeleted(deleted) === true || softDeleted(node_deleted) === true) continue;
    const key = text(v) ?? "";
    const ids = shared.get(key) ?? [];
    const claims = near(id);
    if (ids.length < 5 && !ids.includes(claims)) ids.push(claims);
    shared.set(key, ids);
  }
  // Removes hash collisions and several rows of one machine.
  for (const [key, ids] of shared) if (ids.length < 2) shared.delete(key);
  return shared;
}

/**
 * MariaDB groups text of 255 characters four times slower than a digest. `collect` compares values.
 */
function groupKey({ engine }: Database, expression: string): string {
  return engine === "mysql"
    ? `CAST(CONV(LEFT(MD5(${expression}),16),16,10) AS UNSIGNED)`
    : expression;
}

const SUMS = (text: string): string => `CRC32(${text}) << 32 | CRC32(REVERSE(${text}))`;

/**
 * Precedes `claimed`. MariaDB counts distinct numbers four times faster than it groups them.
 *
 * @param number a hash of the expression
 */
function mayShare({ engine }: Database, expression: string, number: string, live: string): string {
  return engine === "mysql"
    ? `SELECT 1 AS one FROM (SELECT count(*) - count(DISTINCT ${number}) AS n FROM ${live}) AS counted WHERE n > 0`
    : `SELECT 1 AS one FROM (${duplicateQuery(expression, live)} LIMIT 1) AS first`;
}

function duplicateQuery(key: string, live: string): string {
  return `SELECT ${key} AS k FROM ${live} GROUP BY ${key} HAVING count(*) > 1`;
}

function claimed(value: string, key: string, id: string, live: string): string {
  return (
    `SELECT ${value} AS v, ${id} FROM ${live} AND ${key} IN ` +
    `(SELECT k FROM (${duplicateQuery(key, live)}) AS twice) ORDER BY v, id`
  );
}

const INTERFACES = "bm_interfaces i JOIN bm_nodes n ON n.id = i.bm_node_id";
const HAS_MAC = `${mayBeLive("i.deleted")} AND i.address IS NOT NULL AND i.address <> ''`;
const BOTH_LIVE = `${HAS_MAC} AND ${mayBeLive("n.deleted")}`;
/** A check without the join to nodes, which takes most of the time. */
const MACS = {
  number: `CAST(CONV(${HEX("i.address")},16,10) AS UNSIGNED)`,
  rows: `bm_interfaces i WHERE ${HAS_MAC}`,
};

/**
 * Searches on the server, so memory grows only with the number of conflicts. `uuid`: by lower-case
 * uuid, because some engines' unique index is case-sensitive. `uuids`: of rows that share an
 * instance, by bm_nodes.id. `movedTo`: uuids of live rows by the instance that a soft-deleted row
 * also has. `address`: by bare lower-case hex.
 *
 * @source facts/nova-bm.md 1.6, 1.11, 2.4
 */
export async function readShared(database: Database, columns: readonly string[]) {
  const read = (what: string, sql: string) => ask(database, `looking for shared ${what}`, sql);
  const shared = async (
    what: string,
    from: string,
    expression: string,
    id: string,
    { number, rows } = { number: SUMS(expression), rows: from },
  ) => {
    const key = groupKey(database, expression);
    const some = await read(what, mayShare(database, expression, number, rows));
    return some.length === 0
      ? []
      : read(what, claimed(blob(database.engine, expression), key, id, from));
  };
  const lower = (column: string): string => lowerOf(database, column);
  const live = (column: string): string =>
    `bm_nodes WHERE ${mayBeLive()} AND ${column} IS NOT NULL AND ${lower(column)} <> ''`;
  const hasUuid = columns.includes("uuid");
  const cast = (column: string, as: string): string => `${blob(database.engine, column)} AS ${as}`;
  const row = `id, ${cast("deleted", "deleted")}`;
  const both = `n.id AS id, ${cast("i.deleted", "deleted")}, ${cast("n.deleted", "node_deleted")}`;
  const nodes = hasUuid ? await shared("uuid", live("uuid"), lower("uuid"), row) : [];
  const instances = await shared(
    "instance_uuid",
    live("instance_uuid"),
    lower("instance_uuid"),
    hasUuid ? `${row}, ${cast(lower("uuid"), "uuid")}` : row,
  );
  const interfaces = `${INTERFACES} WHERE ${BOTH_LIVE}`;
  const macs = await shared("MACs", interfaces, HEX("i.address"), both, MACS);
  const across = columns.includes("prov_mac_address")
    ? await read("prov_mac_address", acrossNodes(`${row}, NULL AS node_deleted`, both))
    : [];
  const address = new Map(collect(macs));
  for (const [mac, ids] of collect(across)) if (!address.has(mac)) address.set(mac, ids);
  const uuids = instances.map(({ id, uuid }) => [near(id), text(uuid) ?? ""] as const);
  const found = { uuid: collect(nodes), instance_uuid: collect(instances), address };
  const moved = hasUuid ? await read("instances of deleted nodes", movedInstances(database)) : [];
  const movedTo = groupedBy(
    moved.filter(({ deleted }) => softDeleted(deleted) !== true),
    ({ v }) => text(v) ?? "",
    ({ uuid }) => text(uuid) ?? "",
  );
  const none = [...Object.values(found), movedTo].every(({ size }) => size === 0);
  return { ...found, uuids: new Map(uuids), movedTo, none };
}

/** As after a failed build. @source facts/nova-bm.md 2.4 */
function movedInstances(database: Database): string {
  const { engine } = database;
  const of = (column: string): string => blob(engine, lowerOf(database, column));
  const instance = lowerOf(database, "instance_uuid");
  return (
    `SELECT ${of("instance_uuid")} AS v, ${of("uuid")} AS uuid, ${blob(engine, "deleted")} AS deleted ` +
    `FROM bm_nodes WHERE ${mayBeLive()} AND ${instance} IN ` +
    `(SELECT k FROM (SELECT DISTINCT ${instance} AS k FROM bm_nodes WHERE instance_uuid IS NOT NULL AND NOT (${mayBeLive()})) AS gone)`
  );
}

/** Up to version 6, two rows of one machine may share a MAC. */
function acrossNodes(node: string, both: string): string {
  const all =
    `SELECT ${HEX("prov_mac_address")} AS v, ${node} FROM bm_nodes WHERE ${mayBeLive()} AND prov_mac_address IS NOT NULL ` +
    `UNION SELECT ${HEX("i.address")} AS v, ${both} FROM ${INTERFACES} WHERE ${BOTH_LIVE}`;
  return (
    `SELECT v, id, deleted, node_deleted FROM (${all}) AS a WHERE v IN ` +
    `(SELECT v FROM (SELECT v FROM (${all}) AS b GROUP BY v HAVING count(DISTINCT id) > 1) AS c) ORDER BY v, id`
  );
}
