import { grouped } from "../../lib/grouped.ts";
import type { Engine } from "../../model/database.ts";
import type { Lease } from "../../model/nova/leases.ts";
import type { Database } from "../../systems/database/open.ts";
import { read, sql } from "../../systems/database/read.ts";
import {
  boolean,
  inPortions,
  integer,
  lower,
  number,
  spellings,
  string,
  text,
} from "../../systems/database/rows.ts";
import { clockOf, stated, timeOf, transact } from "../../systems/database/statement.ts";
import { live } from "./nodes.ts";

/** @param host default: all hosts */
export function readLeases(database: Database, host?: string): Promise<readonly Lease[]> {
  const now = clockOf(database.engine);
  const fields = {
    ...{ host: string, epoch: number, heartbeat: sql("heartbeat_ms", number) },
    ...{ age: sql(`${now} - heartbeat_ms`, number), ttl: sql("ttl_ms", number) },
    ...{ takes: boolean, fenced_by: text, fenced: sql(`${now} - fenced_at_ms`, integer) },
  };
  const [which, values] = host === undefined ? ["", []] : ["WHERE host = ? ", [host]];
  return read(database, fields, `bm_service_leases ${which}ORDER BY host`, values);
}

export function adding(engine: Engine, row: string): string {
  if (engine === "postgresql") return `INSERT INTO ${row} ON CONFLICT DO NOTHING`;
  return `INSERT ${engine === "mysql" ? "IGNORE" : "OR IGNORE"} INTO ${row}`;
}

interface LeaseFields extends Pick<Lease, "host" | "ttl">, Partial<Pick<Lease, "takes">> {
  readonly my_ip: string | null;
  readonly tftp_root: string | null;
}

/** A restarted agent is the same host. @returns null if the host was fenced */
export async function beginLease(
  database: Database,
  { host, ttl, my_ip, tftp_root, takes = false }: LeaseFields,
): Promise<Pick<Lease, "host" | "epoch"> | null> {
  const { engine } = database;
  const now = clockOf(engine);
  const row = `bm_service_leases (host, epoch, heartbeat_ms, ttl_ms, my_ip, tftp_root, takes) VALUES (?, 1, ${now}, ?, ?, ?, ${takes})`;
  const existing = await readLeases(database, host);
  const settings = [ttl, my_ip, tftp_root];
  if (existing.length === 0)
    await stated(database, "beginning a lease", adding(engine, row), [host, ...settings]);
  const mine = `UPDATE bm_service_leases SET heartbeat_ms = ${now}, ttl_ms = ?, my_ip = ?, tftp_root = ?, takes = ${takes} WHERE host = ? AND fenced_by IS NULL`;
  if ((await stated(database, "beginning a lease", mine, [...settings, host])) !== 1) return null;
  const [lease] = await readLeases(database, host);
  return lease === undefined || lease.fenced_by !== null ? null : lease;
}

/** One transaction. @returns false if the host was fenced, and nothing was written */
export function renewLease(
  database: Database,
  { host, epoch }: Pick<Lease, "host" | "epoch">,
): Promise<boolean> {
  const { engine } = database;
  const now = clockOf(engine);
  const lease = `UPDATE bm_service_leases SET heartbeat_ms = ${now} WHERE host = ? AND epoch = ? AND fenced_by IS NULL`;
  const nodes = `UPDATE bm_nodes SET service_heartbeat_ms = ${now}, service_heartbeat_at = ${timeOf(engine)} WHERE service_host = ? AND ${live(database)}`;
  return transact(database, "renewing a lease", async (change) => {
    if ((await change(lease, [host, epoch])) !== 1) return false;
    await change(nodes, [host]);
    return true;
  });
}

/**
 * A single statement on the lease row, so that an earlier heartbeat wins. A heartbeat in the future
 * (`lasts`) has no age: it must be unchanged since it was read.
 *
 * @returns false if the host is up, or fenced already
 * @source systems.md A4 rule (a)
 */
export async function fenceLease(
  database: Database,
  { host, epoch, heartbeat }: Pick<Lease, "host" | "epoch" | "heartbeat">,
  by: string,
): Promise<boolean> {
  const now = clockOf(database.engine);
  const fence = `UPDATE bm_service_leases SET epoch = epoch + 1, fenced_by = ?, fenced_at_ms = ${now} WHERE host = ? AND epoch = ? AND fenced_by IS NULL AND (heartbeat_ms + ttl_ms < ${now} OR (heartbeat_ms - ttl_ms > ${now} AND heartbeat_ms = ?))`;
  return (await stated(database, "fencing a host", fence, [by, host, epoch, heartbeat])) === 1;
}

/**
 * The epoch is kept, so writes started earlier still count as those of a stale holder. The lease
 * counts as renewed, so that the agent has time to start.
 *
 * @returns false if the lease was changed
 */
export async function liftFence(
  database: Database,
  { host, epoch }: Pick<Lease, "host" | "epoch">,
): Promise<boolean> {
  const lift = `UPDATE bm_service_leases SET fenced_by = NULL, fenced_at_ms = NULL, heartbeat_ms = ${clockOf(database.engine)} WHERE host = ? AND epoch = ? AND fenced_by IS NOT NULL`;
  return (await stated(database, "lifting a fence", lift, [host, epoch])) === 1;
}

interface BootRecord {
  readonly instance_uuid: string;
  /** Null if the boot file does not have it. */
  readonly root_uuid: string | null;
  readonly kernel_id: string | null;
  readonly ramdisk_id: string | null;
}

const PUBLISHED = "seen_ms";

/** Replaces the rows of these instances. */
export async function publishBoot(
  database: Database,
  host: string,
  records: readonly BootRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const { engine, knex } = database;
  const about = { host, [PUBLISHED]: knex.raw(clockOf(engine)) };
  const rows = records.map(({ instance_uuid, ...record }) => {
    return { instance_uuid: instance_uuid.toLowerCase(), ...record, ...about };
  });
  // SQLite's INSERT of knex has at most 500 rows.
  for (const some of inPortions(rows, 500)) {
    const merged = knex("bm_boot_records").insert(some).onConflict("instance_uuid").merge();
    const { sql: insert, bindings } = merged.toSQL();
    await stated(database, "publishing boot files", insert, bindings);
  }
}

/** Boot data by bm_nodes.id, with the data that the agent of the machine's host has published. */
export async function readBootFacts(
  database: Database,
  machines: readonly { readonly id: number; readonly instance: string }[],
) {
  const ids = machines.map(({ id }) => id);
  const nics = await read(
    database,
    { bm_node_id: number, address: sql("address", lower), vif_uuid: text },
    `bm_interfaces WHERE ${live(database)} AND address IS NOT NULL AND bm_node_id IN (...) ORDER BY id`,
    ids,
  );
  const byNode = grouped(nics, ({ bm_node_id }) => bm_node_id);
  const keys = await read(
    database,
    { id: number, deploy_key: text },
    "bm_nodes WHERE id IN (...)",
    ids,
  );
  const keyOf = new Map(keys.map((row) => [row.id, row.deploy_key || null]));
  const records = await read(
    database,
    { instance_uuid: string, root_uuid: text, kernel_id: text, ramdisk_id: text },
    "bm_boot_records WHERE instance_uuid IN (...)",
    spellings(machines.map(({ instance }) => instance)),
  );
  const published = new Map(records.map((row) => [row.instance_uuid.toLowerCase(), row]));
  return new Map(
    machines.map(({ id, instance }) => {
      const nodeNics = byNode.get(id) ?? [];
      const record = published.get(instance.toLowerCase());
      return [
        id,
        {
          macs: nodeNics.map(({ address }) => address),
          /** Ids of Neutron ports. */
          vifs: nodeNics.flatMap(({ vif_uuid }) => vif_uuid || []),
          /** bm_nodes.deploy_key, which the boot file names. */
          key: keyOf.get(id) ?? null,
          root_uuid: record?.root_uuid ?? null,
          kernel_id: record?.kernel_id || null,
          ramdisk_id: record?.ramdisk_id || null,
        },
      ] as const;
    }),
  );
}
