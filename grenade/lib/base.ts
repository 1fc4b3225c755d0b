import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadTables } from "../../src/run/files/load-tables.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { createTables } from "../../src/systems/database/create-tables.ts";
import type { Fleet } from "./seen.ts";
import type { Stack } from "./stack.ts";
import { until } from "./wait.ts";
import { working } from "./working.ts";

/** The legacy nova-compute's host. */
export const HOST = "compute-1";
/** The one that follows it, where it gets another name. */
export const NEW_HOST = "ironic-compute";
export const LEGACY_DATABASE = "nova_bm";
/** Of the stand-in's inventory, and of the nodes Ironic gets. */
export const RESOURCE_CLASS = "bm";
const TENANTS = 4;
const TABLES = join(packageRoot(), "grenade", "legacy", "nova_bm.sql");

/** Sizes every machine has. */
const SIZE = { cpus: 4, memory_mb: 4096, local_gb: 40 };

/** Machines of the deployment, in the order of their BMCs. */
export interface Machines {
  readonly order: readonly string[];
  readonly deleted: readonly string[];
  readonly errored: readonly string[];
  readonly held: readonly string[];
}

/**
 * Fills a nova_bm of the last version with a machine for each BMC: the last is deleted, one before
 * is in error, one before that is left by a deployment that failed.
 */
export async function fillLegacy({ server, db, sim, secrets }: Stack): Promise<Machines> {
  // As operators made it: nova-baremetal's own documentation says latin1.
  await server.newDatabase(LEGACY_DATABASE, "latin1");
  const legacy = db(LEGACY_DATABASE);
  if (server.engine === "postgresql")
    await createTables(legacy, loadTables("nova_bm"), { engine: server.engine });
  else
    for (const statement of readFileSync(TABLES, "utf8").split(";\n"))
      if (statement.trim() !== "") await legacy.raw(statement);
  const order = sim.addresses.map(() => randomUUID());
  const last = order.length - 1;
  const states: { readonly [at: number]: string } = {
    [last - 1]: "error",
    [last - 2]: "deploy failed",
  };
  for (const [at, pm_address] of sim.addresses.entries()) {
    // Both engines take it for UTC, as nova-baremetal wrote it.
    const created_at = new Date(Date.UTC(2014, 5, 1, 0, 0, at)).toISOString().slice(0, 19);
    const deleted = at === last;
    await legacy("bm_nodes").insert({
      ...{ created_at, deleted, deleted_at: deleted ? created_at : null, ...SIZE },
      ...{ pm_address, pm_user: "admin", pm_password: secrets[at], service_host: HOST },
      ...{ uuid: order[at], task_state: states[at] ?? null, preserve_ephemeral: false },
    });
    const { id: bm_node_id } = await legacy("bm_nodes").where({ uuid: order[at] }).first("id");
    const address = `52:54:00:00:00:${at.toString(16).padStart(2, "0")}`;
    await legacy("bm_interfaces").insert({ created_at, deleted, bm_node_id, address });
  }
  const one = (at: number): readonly string[] => order.slice(at, at + 1);
  return { order, deleted: one(last), errored: one(last - 1), held: one(last - 2) };
}

/** Images as the seed's Grenade registers them, and the flavor that names the old deploy images. */
export async function registerImages({
  asks,
}: Stack): Promise<Fleet["images"] & { readonly tenant: string; readonly disk: string }> {
  const image = async (name: string, format: string, more: object = {}): Promise<string> => {
    const container = format === "raw" ? "bare" : format;
    const body = {
      ...{ name, disk_format: format, container_format: container, visibility: "public" },
      ...more,
    };
    const made = await asks<{ readonly id: string }>("glance", "POST", "/images", body);
    if (made === null) throw new Error(`Glance made no image ${name}`);
    await asks("glance", "PUT", `/images/${made.id}/file`, `${name}\n`.repeat(64));
    return made.id;
  };
  const old = [
    await image("old-deploy-kernel", "aki"),
    await image("old-deploy-ramdisk", "ari"),
  ] as const;
  const renewed = [
    await image("deploy-kernel", "aki"),
    await image("deploy-ramdisk", "ari"),
  ] as const;
  const kernel_id = await image("tenant-kernel", "aki");
  const ramdisk_id = await image("tenant-ramdisk", "ari");
  const tenant = await image("tenant", "ami", { kernel_id, ramdisk_id });
  const { memory_mb: ram, local_gb: disk, cpus: vcpus } = SIZE;
  await asks("nova", "POST", "/flavors", { flavor: { id: "bm", name: "bm", vcpus, ram, disk } });
  const extra_specs = {
    cpu_arch: "x86_64",
    "baremetal:deploy_kernel_id": old[0],
    "baremetal:deploy_ramdisk_id": old[1],
    "resources:CUSTOM_BM": "1",
    ...{ "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0" },
  };
  await asks("nova", "POST", "/flavors/bm/os-extra_specs", { extra_specs });
  const whole = await image("whole-disk", "raw");
  return { old, new: renewed, tenant, disk: whole };
}

/** Waits until Nova's scheduler can give every machine of the host that is fit to a tenant. */
export async function schedulable(
  { asks, db }: Stack,
  { order, deleted, errored, held }: Machines,
): Promise<void> {
  const machines = order.length - deleted.length - errored.length - held.length;
  await until("Nova maps the host", async () => {
    const rows = await db("nova_api")("host_mappings").where({ host: HOST });
    return rows.length === 1 ? null : "it is not in host_mappings";
  });
  await until("Placement has every machine", async () => {
    const path = "/allocation_candidates?resources=CUSTOM_BM:1";
    const all = await asks<{ readonly allocation_requests: readonly unknown[] }>(
      ...(["placement", "GET", path] as const),
    ).catch(unknownClass);
    const count = all?.allocation_requests.length ?? 0;
    return count === machines ? null : `it has ${count} of ${machines}`;
  });
}

/** Placement refuses a class that no machine has brought yet. */
export function unknownClass(cause: Error): null {
  if (cause.message.includes("No such resource class")) return null;
  throw cause;
}

/** Names of servers that tenants use; others are there to be carried over as they are. */
export const TENANT = "tenant-";

/** Machines by what became of the server on them. */
export type Served = Pick<Fleet, "tenants" | "ill" | "doubted">;

/**
 * Boots a server on each of the first machines, all at once: those that tenants use; one that is
 * deleted again; one that an operator set to ERROR; and one whose machine nova-baremetal has in
 * error, as a failed rebuild left it. Another finds no machine at all.
 */
export async function bootServers(
  stack: Stack,
  { order }: Machines,
  { image, network }: Pick<Computed, "image" | "network">,
): Promise<Served> {
  const { asks, db } = stack;
  const [tenants, others] = [order.slice(0, TENANTS), order.slice(TENANTS, TENANTS + 3)];
  const [deleted, ill, doubted] = others;
  if (deleted === undefined || ill === undefined || doubted === undefined)
    throw new Error("too few machines");
  const served = (name: string, node: string) => boot(stack, { name, image, network, node });
  const used = tenants.map((node, at) => served(`${TENANT}${at}`, node));
  const all = [
    ...used,
    used[0]?.then(() => create(stack, { name: "nowhere", image, network, node: order[0] ?? "" })),
    served("deleted", deleted).then((id) => asks("nova", "DELETE", `/servers/${id}`)),
    served("ill", ill).then((id) =>
      asks("nova", "POST", `/servers/${id}/action`, { "os-resetState": { state: "error" } }),
    ),
    served("doubted", doubted).then(() =>
      db(LEGACY_DATABASE)("bm_nodes").where({ uuid: doubted }).update({ task_state: "error" }),
    ),
  ];
  for (const one of await Promise.allSettled(all)) if (one.status === "rejected") throw one.reason;
  await until("a server is deleted, and another in ERROR", async () => {
    // Of a server that it only just gave up, Nova's list is behind.
    const all = await asks<{ readonly servers: readonly WithName[] }>(
      ...(["nova", "GET", "/servers/detail?all_tenants=1"] as const),
    );
    const states = new Map(all?.servers.map(({ name, status }) => [name, status]));
    const done = !states.has("deleted") && states.get("nowhere") === "ERROR";
    return done ? null : JSON.stringify([...states]);
  });
  return { tenants, ill: [ill], doubted: [doubted] };
}

interface WithName {
  readonly name: string;
  readonly status: string;
}

interface ShowableArtifact {
  readonly server: { readonly status: string; readonly fault?: unknown };
}

interface Computed {
  readonly name: string;
  readonly image: string;
  /** Nova makes a port there. */
  readonly network: string;
  readonly node: string;
}

/** Boots one server on a machine and waits until it is ACTIVE; its id. */
async function boot(stack: Stack, own: Computed): Promise<string> {
  const id = await create(stack, own);
  await until(`${own.name} is ACTIVE`, async () => {
    const busy = await working(stack, id);
    if (busy !== null) return busy;
    const now = await stack.asks<ShowableArtifact>("nova", "GET", `/servers/${id}`);
    const { status, fault } = now?.server ?? { status: "gone" };
    if (status === "ERROR") throw new Error(`${own.name} is in ERROR: ${JSON.stringify(fault)}`);
    return status === "ACTIVE" ? null : `it is ${status}`;
  });
  return id;
}

async function create({ asks }: Stack, { name, image, network, node }: Computed): Promise<string> {
  const server = {
    ...{ name, flavorRef: "bm", imageRef: image, networks: [{ uuid: network }] },
    ...{ host: HOST, hypervisor_hostname: node },
  };
  const made = await asks<{ readonly server: { readonly id: string } }>(
    ...(["nova", "POST", "/servers", { server }] as const),
  );
  return made?.server.id ?? "";
}
