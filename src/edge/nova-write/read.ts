import type { Knex } from "knex";
import type { NovaIdentity } from "../../model/nova-plan.ts";
import { hasApiAggregates } from "../../model/nova-release.ts";
import type { ComputeRow, HostUse, MachineRows, NovaWorld } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { readTransaction } from "../database/read-transaction.ts";
import { boolean, integer, marks, plain, type RawRow, select, text } from "../database/rows.ts";
import { INSTANCE, instanceOf, spellings } from "./instances.ts";
import { mustReadRequests, waitingRequests } from "./requests.ts";
import { computeHosts, useOf } from "./use.ts";

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
  const ask = (doing: string, sql: string, values: readonly unknown[] = []) =>
    database.run(`reading ${doing}`, () => select(database, on, sql, values));
  const inList = async (doing: string, sql: string, values: readonly unknown[], more = "") =>
    values.length === 0 ? [] : ask(doing, `${sql} IN (${marks(values)}) ${more}`, values);
  const computes = await computeHosts(database);
  const { byHost } = computes;
  const world = await readWorld(ask, `${database.knex.ref("binary")}`, identity, computes);
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
      const instances = await inList(
        "instances",
        `SELECT ${INSTANCE} FROM instances WHERE uuid`,
        uuids,
      );
      const byUuid = new Map(instances.map((row) => [lower(row.uuid), instanceOf(row)]));
      const volumes = await inList(
        "block_device_mapping",
        "SELECT instance_uuid, volume_id FROM block_device_mapping WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid",
        uuids,
        "ORDER BY id",
      );
      const nodes = [
        ...machines.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])),
        ...instances.map(({ node }) => text(node) ?? "").filter((name) => name !== ""),
      ];
      const offering = await inList(
        "compute_nodes",
        `SELECT id, service_id, ${byHost ? "host, " : ""}hypervisor_hostname, deleted, deleted_at FROM compute_nodes WHERE id`,
        placed.ids(nodes),
        "ORDER BY id",
      );
      const queued = await waitingRequests(
        database,
        on,
        [...byUuid.values()].filter(({ deleted }) => deleted === 0),
      );
      const attached = grouped(volumes, "instance_uuid");
      const offered = grouped(offering, "hypervisor_hostname");
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

type Ask = (doing: string, sql: string) => Promise<readonly RawRow[]>;

async function readWorld(
  ask: Ask,
  binary: string,
  identity: NovaIdentity,
  { host: owner, from: owned }: Pick<Awaited<ReturnType<typeof computeHosts>>, "host" | "from">,
): Promise<NovaWorld> {
  const services = await ask(
    "services",
    `SELECT id, host, disabled, disabled_reason FROM services WHERE deleted = 0 AND host IS NOT NULL AND ${binary} = 'nova-compute' ORDER BY id`,
  );
  // Later ones have aggregates in nova_api, and nothing reads what nova still holds (N2I-D241).
  const members = hasApiAggregates(identity.schema_version)
    ? []
    : await ask(
        "aggregate_hosts",
        "SELECT host, aggregate_id FROM aggregate_hosts WHERE deleted = 0 ORDER BY aggregate_id",
      );
  const drivers = (
    await ask(
      "compute_nodes",
      `SELECT DISTINCT ${owner} AS host, c.hypervisor_type AS type FROM ${owned} WHERE c.deleted = 0 AND c.hypervisor_type <> '' AND ${owner} IS NOT NULL ORDER BY 1, 2`,
    )
  ).map(({ host, type }) => ({
    host: text(host) ?? "",
    type: text(type) ?? "",
  }));
  const foreign = new Map<string, string[]>();
  for (const { host, type } of drivers)
    if (!MACHINES.has(type)) foreign.set(host, [...(foreign.get(host) ?? []), type]);
  const aggregates = new Map<string, number[]>();
  for (const row of members) {
    const host = text(row.host) ?? "";
    aggregates.set(host, [...(aggregates.get(host) ?? []), integer(row.aggregate_id) ?? 0]);
  }
  const machines = [...MACHINES].map((name) => `'${name}'`).join(", ");
  const guests = await ask(
    "compute_nodes",
    `SELECT i.host, count(DISTINCT i.id) AS n FROM ${owned} JOIN instances i ON i.deleted = 0 AND i.host = ${owner} AND i.node = c.hypervisor_hostname WHERE c.deleted = 0 AND c.hypervisor_type NOT IN ('', ${machines}) GROUP BY i.host`,
  );
  return {
    identity,
    aggregates,
    services: services.map((row) => ({
      id: integer(row.id) ?? 0,
      host: text(row.host) ?? "",
      disabled: boolean(row.disabled),
      disabled_reason: text(row.disabled_reason),
    })),
    baremetal: drivers.flatMap(({ host, type }) => (type === "baremetal" ? [host] : [])),
    foreign,
    guests: new Map(guests.map(({ host, n }) => [text(host) ?? "", integer(n) ?? 0])),
  };
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
function grouped(rows: readonly RawRow[], column: string): ReadonlyMap<string, readonly RawRow[]> {
  const groups = new Map<string, RawRow[]>();
  for (const row of rows) {
    const name = lower(row[column]);
    const group = groups.get(name);
    if (group !== undefined) group.push(row);
    else if (name !== "") groups.set(name, [row]);
  }
  return groups;
}

function lower(value: unknown): string {
  return String(plain(value) ?? "").toLowerCase();
}
