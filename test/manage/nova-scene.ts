import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { registerImages } from "../../grenade/lib/base.ts";
import { enroll } from "../../grenade/lib/enroll.ts";
import { registerNetwork } from "../../grenade/lib/network.ts";
import type { Stack } from "../../grenade/lib/stack.ts";
import { until } from "../../grenade/lib/wait.ts";
import { inFlight } from "../../src/systems/ironic-api/pool.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { NOVA_DATABASES } from "../lab/cloud/nova.ts";
import { telling } from "../lab/ironic/telling.ts";
import { computeOf, PASSING, rowsIn } from "../migrate/nova/two-computes.ts";
import { withStack } from "../migrate/nova/with-stack.ts";

export type Body = { readonly [field: string]: unknown };

export type NovaScene = Awaited<ReturnType<typeof novaScene>>;
/** A machine that runs, active in Ironic, and that no Nova knows a server of; its port is bound to its node. */
export type Running = NovaScene["machines"][number];

/** Seconds between two looks of Nova, and of Ironic, at power: so often that a test sees what they do. */
const OFTEN = { nova: 5, ironic: 3 } as const;
const AT_ONCE = 4;

/**
 * A real cloud with one nova-compute, whose machines run since before there was a Nova. The last one is off, and ports
 * have names, each another than its server's.
 */
export async function novaScene(t: Pick<TestContext, "after" | "diagnostic">, count: number) {
  const options = { machines: count, period: OFTEN.ironic, dns: true };
  const { stack, ends } = await withStack(t, options);
  const images = await registerImages(stack);
  const network = await registerNetwork(stack.asks);
  await stack.ironic.wake();
  const { ironic, sim, secrets } = stack;
  const own = { ironic, sim, secrets, resource_class: "bm", images: images.new };
  const order = await enroll(stack, own);
  const machines = await inFlight([...order.entries()], AT_ONCE, async ([at, uuid]) => {
    const isOn = at < count - 1;
    const port = await adopted(stack, { at, uuid, isOn, image: images.disk, network });
    return { uuid, port, on: () => sim.power(at) };
  });
  await until("Ironic sees which machines are on", async () => {
    const path = "/nodes?fields=uuid,power_state,provision_state,last_error";
    const nodes = (await stack.asks<{ nodes: Body[] }>("ironic", "GET", path))?.nodes ?? [];
    const runs = ({ uuid, power_state, provision_state }: Body): boolean =>
      power_state === (order.indexOf(String(uuid)) < count - 1 ? "power on" : "power off") &&
      provision_state === "active";
    return nodes.length === count && nodes.every(runs) ? null : JSON.stringify(nodes);
  });
  const compute = computeOf(stack, "bm-1", { sync: OFTEN.nova });
  ends.push(compute.stop);
  await compute.start();
  await until("Placement has every machine", async () => {
    const all = await Promise.all(machines.map(({ uuid }) => inventory(stack, uuid)));
    const mapped = await stack.db(NOVA_DATABASES.api)("host_mappings").where({ host: "bm-1" });
    return mapped.length === 1 && all.every((one) => one !== null) ? null : JSON.stringify(all);
  });
  const heard = sim.commands().length;
  return {
    ...{ stack, compute, machines, folder: privateFolder(t) },
    words: ["--ironic-url", ironic.url],
    env: {
      ...stack.cloud.env,
      OS_COMPUTE_ENDPOINT_OVERRIDE: `${stack.nova.url}/v2.1`,
      OS_PLACEMENT_ENDPOINT_OVERRIDE: stack.placement,
      OS_NETWORK_ENDPOINT_OVERRIDE: stack.neutron.url,
      OS_IMAGE_ENDPOINT_OVERRIDE: `http://127.0.0.1:${stack.cloud.ports.glance}`,
    },
    /** What BMCs were told that switches a machine or what it boots, since they run. */
    told: () => sim.commands().slice(heard),
  };
}

/** An adopted machine that runs: its port is bound as Ironic binds one, and its node's by device_id. */
async function adopted(
  { asks, ironic }: Stack,
  own: { at: number; uuid: string; isOn: boolean; image: string; network: string },
): Promise<string> {
  const { at, uuid, isOn, image, network } = own;
  const { tell, goes, power } = telling(ironic);
  const mac_address = `52:54:00:00:01:${at.toString(16).padStart(2, "0")}`;
  const port = {
    ...{ network_id: network, mac_address, device_id: uuid, device_owner: "baremetal:none" },
    ...{ "binding:vnic_type": "baremetal", "binding:host_id": uuid },
    dns_name: `db-${at}`,
  };
  const made = await asks<{ port: { id: string } }>("neutron", "POST", "/ports", { port });
  const vif = made?.port.id ?? "";
  const nics = await asks<{ ports: Body[] }>("ironic", "GET", `/ports?node_uuid=${uuid}`);
  const card = String(nics?.ports[0]?.uuid);
  const extra = [{ op: "add", path: "/extra/vif_port_id", value: vif }];
  await tell("PATCH", `/v1/ports/${card}`, extra);
  const info = {
    image_source: image,
    root_gb: 10,
    capabilities: { boot_option: "local" },
    own: "x",
  };
  const fields = { "/name": `n-${at}`, "/extra/rack": at, "/instance_info": info };
  const patch = Object.entries(fields).map(([path, value]) => ({ op: "add", path, value }));
  await tell("PATCH", `/v1/nodes/${uuid}`, patch);
  await goes(uuid, "manage", "manageable");
  await goes(uuid, "adopt", "active");
  // Ironic switches off what somebody else switched on.
  await power(uuid, isOn ? "power on" : "power off");
  return vif;
}

export function protect({ stack }: NovaScene, { uuid }: Running): Promise<unknown> {
  const fields = { "/protected": true, "/protected_reason": "a shop" };
  const patch = Object.entries(fields).map(([path, value]) => ({ op: "add", path, value }));
  return telling(stack.ironic).tell("PATCH", `/v1/nodes/${uuid}`, patch);
}

export async function inventory({ asks }: Stack, uuid: string): Promise<Body | null> {
  const path = `/resource_providers/${uuid}/inventories`;
  const found = await asks<{ inventories: { CUSTOM_BM?: Body } }>("placement", "GET", path);
  return found?.inventories.CUSTOM_BM ?? null;
}

export async function nodeOf({ stack }: NovaScene, { uuid }: Running): Promise<Body> {
  return (await stack.asks<Body>("ironic", "GET", `/nodes/${uuid}`)) ?? assert.fail();
}

export function hardwareOf(node: Body): Body {
  return Object.fromEntries(
    Object.entries(node).filter(([name]) => /^driver$|_interface$/.test(name)),
  );
}

/** Everything that a server touches, as services tell it and as rows; without their own counts and clocks. */
export async function dumps({ stack }: NovaScene): Promise<string> {
  const { asks } = stack;
  const all = [
    await asks("ironic", "GET", "/nodes?detail=true"),
    await asks("ironic", "GET", "/ports?detail=true"),
    await asks("ironic", "GET", "/allocations"),
    await asks("neutron", "GET", "/ports"),
    await asks("nova", "GET", "/servers/detail?all_tenants=1"),
  ];
  const passing = new Set([
    ...["updated_at", "revision_number", "provision_updated_at", "inspection_finished_at"],
    ...["driver_internal_info", "last_error", "reservation", "status"],
  ]);
  return JSON.stringify(
    [...all, await rows(stack)],
    (key, value: unknown) => (passing.has(key) ? 0 : value),
    1,
  );
}

/**
 * Tables in which something stays of a server that is deleted, beside rows that say so in `deleted`: what was done to it,
 * and how often Nova cleaned up after it; until `nova-manage db archive_deleted_rows` its mapping and its request; from
 * then on the EC2 number of its image, its project's group called default, and whoever had an allocation in Placement.
 *
 * @source nova 26: db/main/api.py, instance_destroy, security_group_ensure_default; objects/ec2.py; cmd/manage.py;
 *   compute/manager.py, _run_pending_deletes
 */
const OUTLIVES: ReadonlySet<string> = new Set([
  ...["instance_actions", "instance_actions_events", "instance_system_metadata"],
  ...["instance_mappings", "request_specs", "s3_images", "security_groups", "projects", "users"],
]);

/** Rows of Nova and Placement by table: all that are not deleted, without what clocks and counters write. */
async function rows(stack: Stack): ReturnType<typeof rowsIn> {
  const deleted = await stack
    .db(NOVA_DATABASES.cell)("instances")
    .whereNot({ deleted: 0 })
    .pluck<readonly string[]>("uuid");
  const gone = new Set(deleted);
  const passes = (column: string) => /_at$|^generation$/.test(column) || PASSING.includes(column);
  return rowsIn(stack, [...Object.values(NOVA_DATABASES), "placement"], (row, table) => {
    const { deleted: is = 0, instance_uuid: server = null } = row;
    const stays = OUTLIVES.has(table) && (server === null || gone.has(String(server)));
    return stays || is !== 0
      ? null
      : Object.fromEntries(Object.entries(row).filter(([column]) => !passes(column)));
  });
}
