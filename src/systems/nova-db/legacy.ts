import { MigrationError } from "../../lib/error.ts";
import { grouped } from "../../lib/grouped.ts";
import type { OwnedCompute } from "../../model/nova/host-move.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, needColumns, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { read, sql } from "../database/read.ts";
import { boolean, integer, lower, number, spellings, string, text } from "../database/rows.ts";
import { openOwners, ownedComputes } from "./by-node.ts";
import { attachedVolumes } from "./instances.ts";

/** @throws MigrationError N2I-E203 */
export async function needLegacyColumns(database: Database): Promise<void> {
  const needed = ["locked", "kernel_id", "ramdisk_id"];
  await needColumns(database, "--nova-db", { instances: needed });
  if ((await columnNames(database, "instances")).includes("locked_by")) return;
  throw new MigrationError(
    "N2I-E203",
    `--nova-db ${database.label}: instances lacks locked_by, which came with Havana: the lock of a tenant cannot be distinguished from that of a move`,
    { fix: "Upgrade Nova to Havana first." },
  );
}

const TENANT = {
  ...{ id: number, uuid: string, host: text, node: text, vm_state: text, task_state: text },
  ...{ locked: (value: unknown) => boolean(value) === true, locked_by: text },
  deleted: (value: unknown) => softDeleted(value) === true,
};

/** By lower-case uuid, including deleted instances. */
export async function legacyTenants(database: Database, uuids: readonly string[]) {
  const rows = await read(database, TENANT, "instances WHERE uuid IN (...)", spellings(uuids));
  return new Map(rows.map((row) => [row.uuid.toLowerCase(), row]));
}

export function instancesOn(database: Database, host: string) {
  const { uuid, node, task_state, locked, locked_by } = TENANT;
  const fields = { uuid, node, task_state, locked, locked_by };
  return read(database, fields, "instances WHERE deleted = 0 AND host = ? ORDER BY id", [host]);
}

/**
 * Includes rows created since the opening, because a nova-compute creates one as soon as it owns a
 * machine.
 *
 * @param some if set, only these machines, including rows that were deleted at the opening
 * @source systems.md A2 H5
 */
export async function openFreshComputes(
  database: Database,
  some?: readonly string[],
): Promise<(nodes: readonly string[]) => Promise<ReadonlyMap<string, readonly OwnedCompute[]>>> {
  const newest = { id: sql("COALESCE(MAX(id), 0)", number) };
  const [{ id: last } = { id: 0 }] = await read(database, newest, "compute_nodes");
  const owners = some === undefined ? await openOwners(database) : null;
  // One scan, because the column has no index.
  const byHypervisor = "compute_nodes WHERE hypervisor_hostname IN (...)";
  const ever = await read(database, { id: number }, byHypervisor, spellings(some ?? []));
  const { from, fields } = await ownedComputes(database);
  return async (nodes) => {
    const old = (await owners?.(nodes)) ?? new Map<string, readonly OwnedCompute[]>();
    const names = spellings(nodes);
    const which = ever.length === 0 ? "" : ` OR c.id IN (${ever.map(({ id }) => id).join()})`;
    const since = `${from} AND (c.id > ${last}${which}) AND c.hypervisor_hostname IN (...) ORDER BY c.id`;
    const rows = await read(database, fields, since, names);
    const fresh = grouped(rows, (row) => row.hypervisor_hostname.toLowerCase());
    return new Map(
      nodes.map((node) => {
        const key = node.toLowerCase();
        return [key, [...(old.get(key) ?? []), ...(fresh.get(key) ?? [])]];
      }),
    );
  };
}

/**
 * Reasons to keep an instance on its host, by lower-case uuid: attached volumes, which the old host
 * exports, and the architecture.
 *
 * @source systems.md A2 H6
 */
export async function legacyTies(database: Database, uuids: readonly string[]) {
  const built = await read(
    database,
    { uuid: lower, architecture: string },
    "instances WHERE architecture IS NOT NULL AND uuid IN (...)",
    spellings(uuids),
  );
  return {
    volumes: await attachedVolumes(database, uuids),
    architectures: new Map(built.map((row) => [row.uuid, row.architecture])),
  };
}

/** Extra specs of flavors through Juno. */
export const SPECS = "instance_type_extra_specs";

/** @source nova@2014.2:nova/virt/baremetal/pxe.py get_tftp_image_info */
export async function legacyImageIds(database: Database, uuids: readonly string[]) {
  const rows = await read(
    database,
    { uuid: lower, kernel_id: text, ramdisk_id: text, instance_type_id: integer },
    "instances WHERE uuid IN (...)",
    spellings(uuids),
  );
  const flavors = [...new Set(rows.flatMap((row) => row.instance_type_id ?? []))];
  const specs = (await tableNames(database)).has(SPECS)
    ? await read(
        database,
        { instance_type_id: number, key: string, value: text },
        `${SPECS} WHERE deleted = 0 AND instance_type_id IN (...)`,
        flavors,
      )
    : [];
  const specOf = new Map(specs.map((row) => [`${row.instance_type_id} ${row.key}`, row.value]));
  return new Map(
    rows.map(({ uuid, kernel_id, ramdisk_id, instance_type_id: flavor }) => [
      uuid,
      {
        ...{ kernel: kernel_id || null, ramdisk: ramdisk_id || null },
        deploy_kernel: specOf.get(`${flavor} baremetal:deploy_kernel_id`) || null,
        deploy_ramdisk: specOf.get(`${flavor} baremetal:deploy_ramdisk_id`) || null,
      },
    ]),
  );
}

export const NETWORKS = ["networks", "fixed_ips", "floating_ips"] as const;

/** Hosts used by nova-network, which have addresses of instances. @source systems.md A2 H10 */
export async function networkHosts(database: Database, hosts: readonly string[]) {
  const tables = await tableNames(database);
  const found = new Set<string>();
  for (const table of NETWORKS) {
    if (!tables.has(table)) continue;
    if (!(await columnNames(database, table)).includes("host")) continue;
    const from = `${table} WHERE deleted = 0 AND host IN (...) GROUP BY host`;
    for (const row of await read(database, { host: string }, from, hosts)) found.add(row.host);
  }
  return [...found].toSorted();
}
