import type { Knex } from "knex";
import { grouped, groupedBy } from "../../model/grouped.ts";
import type { NovaIdentity } from "../../model/nova-plan.ts";
import { hasApiAggregates } from "../../model/nova-release.ts";
import type { ComputeRow, HostUse, MachineRows, NovaWorld } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import { deletedNumber } from "../database/deleted.ts";
import { type Database, readTransaction } from "../database/open.ts";
import {
  ask,
  askIn,
  boolean,
  integer,
  lower,
  type RawRow,
  spellings,
  text,
} from "../database/rows.ts";
import { computeHosts, useOf } from "./hosts.ts";
import { INSTANCE, instanceOf } from "./instances.ts";
import { mustReadRequests, waitingRequests } from "./requests.ts";

/** Which rows belong to a machine. */
interface AskedMachine {
  readonly uuid: string | null;
  readonly instance_uuid: string | null;
}

/** Reads what a change of hosts depends on, all of one moment. */
interface HostReader {
  readonly world: NovaWorld;
  readonly rows: (machines: readonly AskedMachine[]) => Promise<readonly MachineRows[]>;
  /** Live instances and compute nodes of hosts, ours among them. */
  readonly use: (hosts: readonly string[]) => Promise<ReadonlyMap<string, HostUse>>;
  /** The transaction, for other readers of the same moment. */
  readonly on: Knex;
  readonly close: () => Promise<void>;
}

/** @source facts/nova-bm.md 5.1 */
export async function openHosts(database: Database, identity: NovaIdentity): Promise<HostReader> {
  const on = await readTransaction(database);
  await mustReadRequests(database, on);
  const read = (table: string, sql: string) => ask(database, `reading ${table}`, sql, [], on);
  const readIn = (table: string, sql: string, values: readonly unknown[]) =>
    askIn(database, `reading ${table}`, sql, values, on);
  const computes = await computeHosts(database);
  const { byHost } = computes;
  const world = await readWorld(read, `${database.knex.ref("binary")}`, identity, computes);
  const placed = await indexByText(
    database,
    on,
    "compute_nodes",
    "hypervisor_hostname",
    "deleted = 0 AND hypervisor_hostname IS NOT NULL",
  );
  return {
    world,
    on,
    close: async () => {
      await on.rollback();
    },
    async rows(machines) {
      const uuids = spellings(machines.map(({ instance_uuid }) => instance_uuid));
      const sql = `SELECT ${INSTANCE} FROM instances WHERE uuid IN (...)`;
      const instances = await readIn("instances", sql, uuids);
      const byUuid = new Map(instances.map((row) => [lower(row.uuid), instanceOf(row)]));
      const volumes = await readIn(
        "block_device_mapping",
        "SELECT instance_uuid, volume_id FROM block_device_mapping WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY id",
        uuids,
      );
      const nodes = [
        ...machines.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])),
        ...instances.map(({ node }) => text(node) ?? "").filter((name) => name !== ""),
      ];
      const offering = await readIn(
        "compute_nodes",
        `SELECT id, service_id, ${byHost ? "host, " : ""}hypervisor_hostname, deleted, deleted_at FROM compute_nodes WHERE id IN (...) ORDER BY id`,
        placed.ids(nodes),
      );
      const queued = await waitingRequests(
        database,
        on,
        [...byUuid.values()].filter(({ deleted }) => deleted === 0),
      );
      const attached = byName(volumes, "instance_uuid");
      const offered = byName(offering, "hypervisor_hostname");
      return machines.map(({ uuid, instance_uuid }) => ({
        instance: byUuid.get(lower(instance_uuid)) ?? null,
        elsewhere: isElsewhere(byUuid.get(lower(instance_uuid))?.node, uuid, offered),
        volumes: (attached.get(lower(instance_uuid)) ?? []).map((row) => text(row.volume_id) ?? ""),
        computes: (offered.get(lower(uuid)) ?? []).map(computeOf),
        queued: queued.get(lower(instance_uuid)) ?? [],
      }));
    },
    use: (hosts) => useOf(database, on, hosts),
  };
}

/** What the drivers for machines call themselves. @source facts/nova-bm.md 5.1 */
const MACHINES: ReadonlySet<string> = new Set(["baremetal", "ironic"]);

type Read = (table: string, sql: string) => Promise<readonly RawRow[]>;

async function readWorld(
  read: Read,
  binary: string,
  identity: NovaIdentity,
  { host: owner, from: owned }: Pick<Awaited<ReturnType<typeof computeHosts>>, "host" | "from">,
): Promise<NovaWorld> {
  const services = await read(
    "services",
    `SELECT id, host, disabled, disabled_reason FROM services WHERE deleted = 0 AND host IS NOT NULL AND ${binary} = 'nova-compute' ORDER BY id`,
  );
  // Later ones have aggregates in nova_api, and nothing reads what nova still holds (N2I-D241).
  const members = hasApiAggregates(identity.schema_version)
    ? []
    : await read(
        "aggregate_hosts",
        "SELECT host, aggregate_id FROM aggregate_hosts WHERE deleted = 0 ORDER BY aggregate_id",
      );
  const offers = await read(
    "compute_nodes",
    `SELECT DISTINCT ${owner} AS host, c.hypervisor_type AS type FROM ${owned} WHERE c.deleted = 0 AND c.hypervisor_type <> '' AND ${owner} IS NOT NULL ORDER BY 1, 2`,
  );
  const machines = [...MACHINES].map((name) => `'${name}'`).join(", ");
  const guests = await read(
    "compute_nodes",
    `SELECT i.host, count(DISTINCT i.id) AS n FROM ${owned} JOIN instances i ON i.deleted = 0 AND i.host = ${owner} AND i.node = c.hypervisor_hostname WHERE c.deleted = 0 AND c.hypervisor_type NOT IN ('', ${machines}) GROUP BY i.host`,
  );
  const drivers = offers.map(({ host, type }) => ({ host: named(host), type: named(type) }));
  return {
    identity,
    aggregates: groupedBy(
      members,
      ({ host }) => named(host),
      ({ aggregate_id }) => integer(aggregate_id) ?? 0,
    ),
    services: services.map((row) => ({
      id: integer(row.id) ?? 0,
      host: named(row.host),
      disabled: boolean(row.disabled),
      disabled_reason: text(row.disabled_reason),
    })),
    baremetal: drivers.flatMap(({ host, type }) => (type === "baremetal" ? [host] : [])),
    foreign: groupedBy(
      drivers.filter(({ type }) => !MACHINES.has(type)),
      ({ host }) => host,
      ({ type }) => type,
    ),
    guests: new Map(guests.map(({ host, n }) => [named(host), integer(n) ?? 0])),
  };
}

function named(value: unknown): string {
  return text(value) ?? "";
}

function computeOf(row: RawRow): ComputeRow {
  return {
    id: integer(row.id) ?? 0,
    service_id: integer(row.service_id),
    ...("host" in row && { host: text(row.host) }),
    hypervisor_hostname: text(row.hypervisor_hostname),
    deleted: deletedNumber(row.deleted),
    deleted_at: text(row.deleted_at),
  };
}

/** Whether a node that an instance names is a compute node, and not the machine itself. */
function isElsewhere(
  node: string | null | undefined,
  machine: string | null,
  offered: ReadonlyMap<string, unknown>,
): boolean {
  return lower(node) !== lower(machine) && offered.has(lower(node));
}

/** Rows by a column's text in lower case; those without any are nobody's. */
function byName(rows: readonly RawRow[], column: string): ReadonlyMap<string, readonly RawRow[]> {
  const named = rows.filter((row) => lower(row[column]) !== "");
  return grouped(named, (row) => lower(row[column]));
}
