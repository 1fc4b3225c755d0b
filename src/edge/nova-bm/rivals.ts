import type { Database } from "../database/open.ts";
import { integer, type RawRow, select, text } from "../database/rows.ts";

type Runner = Parameters<typeof select>[1];

/** Values that more than one live row claims, with the bm_nodes ids that do (at most five each). */
export type Shared = ReadonlyMap<string, readonly number[]>;

export interface SharedValues {
  readonly instance_uuid: Shared;
  readonly pm_address: Shared;
  /** By bare lower-case hex of the MAC. */
  readonly address: Shared;
}

/** A MAC without its separators, in SQL all three engines know. */
const HEX = (column: string): string =>
  `replace(replace(replace(lower(${column}),':',''),'-',''),'.','')`;

function collect(rows: readonly RawRow[]): Shared {
  const shared = new Map<string, number[]>();
  for (const { v, id } of rows) {
    const key = text(v) ?? "";
    const ids = shared.get(key) ?? [];
    if (ids.length < 5) ids.push(integer(id) ?? 0);
    shared.set(key, ids);
  }
  return shared;
}

/** Rows whose expression another live row has too. */
function claimed(from: string, expression: string, id: string, where: string): string {
  const live = `${from} WHERE ${where}`;
  return (
    `SELECT ${expression} AS v, ${id} AS id FROM ${live} AND ${expression} IN ` +
    `(SELECT v FROM (SELECT ${expression} AS v FROM ${live} GROUP BY ${expression} HAVING count(*) > 1) AS twice) ` +
    "ORDER BY v, id"
  );
}

const INTERFACES = "bm_interfaces i JOIN bm_nodes n ON n.id = i.bm_node_id";
const BOTH_LIVE =
  "i.deleted IS NOT TRUE AND n.deleted IS NOT TRUE AND i.address IS NOT NULL AND i.address <> ''";

/**
 * What more than one live row claims: found by the server, so that nothing here grows with the
 * fleet but the clashes themselves.
 *
 * @source facts/nova-bm.md 1.6, 1.11, 2.4
 */
export async function readShared(
  database: Database,
  on: Runner,
  hasProvisioningMac: boolean,
): Promise<SharedValues> {
  const ask = (what: string, sql: string) =>
    database.run(`looking for shared ${what}`, () => select(database, on, sql));
  const live = (column: string): string =>
    `deleted IS NOT TRUE AND ${column} IS NOT NULL AND ${column} <> ''`;
  const instances = await ask(
    "instance_uuid",
    claimed("bm_nodes", "lower(instance_uuid)", "id", live("instance_uuid")),
  );
  const addresses = await ask(
    "pm_address",
    claimed("bm_nodes", "lower(pm_address)", "id", live("pm_address")),
  );
  const macs = await ask("MACs", claimed(INTERFACES, HEX("i.address"), "n.id", BOTH_LIVE));
  const across = hasProvisioningMac ? await ask("prov_mac_address", acrossNodes()) : [];
  const address = new Map(collect(macs));
  for (const [mac, ids] of collect(across)) if (!address.has(mac)) address.set(mac, ids);
  return { instance_uuid: collect(instances), pm_address: collect(addresses), address };
}

/** Up to version 6 a machine's own two rows of one MAC are normal; two machines' are not. */
function acrossNodes(): string {
  const all =
    `SELECT ${HEX("prov_mac_address")} AS v, id FROM bm_nodes WHERE deleted IS NOT TRUE AND prov_mac_address IS NOT NULL ` +
    `UNION SELECT ${HEX("i.address")} AS v, n.id AS id FROM ${INTERFACES} WHERE ${BOTH_LIVE}`;
  return (
    `SELECT v, id FROM (${all}) AS a WHERE v IN ` +
    `(SELECT v FROM (SELECT v FROM (${all}) AS b GROUP BY v HAVING count(DISTINCT id) > 1) AS c) ORDER BY v, id`
  );
}
