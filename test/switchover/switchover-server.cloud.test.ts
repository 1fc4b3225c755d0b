import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { machinesOf, startAgents, waitingIn } from "../../grenade/lib/agent.ts";
import { registerImages } from "../../grenade/lib/base.ts";
import { registerNetwork } from "../../grenade/lib/network.ts";
import type { Stack } from "../../grenade/lib/stack.ts";
import { until } from "../../grenade/lib/wait.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { NOVA_DATABASES } from "../lab/cloud/nova.ts";
import { telling } from "../lab/ironic/telling.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { inventory } from "../manage/nova-scene.ts";
import { stopAndStart } from "../migrate/nova/switched.ts";
import { type Compute, comparesPower, computeOf } from "../migrate/nova/two-computes.ts";
import { withStack } from "../migrate/nova/with-stack.ts";

type Body = { readonly [field: string]: unknown };
type Named<Key extends string> = { readonly [name in Key]: Body };

const [SOURCE, SPARE] = [0, 1] as const;
const NODES = [uuidOf(1, SOURCE), uuidOf(1, SPARE)] as const;
/** Seconds between two looks of Nova, and of Ironic, at power. */
const NOVA_SYNC = 2;
const IRONIC_SYNC = 3;

test("B-18: a server of a real Nova goes on on a spare, and its tenant stops and starts it there", async (t) => {
  const at = await scene(t);
  await t.test("taken back before the deploy, Nova has it where it was", () => takenBack(at));
  await t.test("switched over, row and allocation are the spare's", () => switched(at));
  await t.test("no power sync of Nova switches the spare off", () => keepsRunning(at));
  await t.test("stop and start reach the spare's BMC, and no other", () => stopsAndStarts(at));
});

async function scene(t: TestContext) {
  const { stack, ends } = await withStack(t, { machines: NODES.length, period: IRONIC_SYNC });
  const images = await registerImages(stack);
  const network = await registerNetwork(stack.asks);
  await stack.ironic.wake();
  const [deploy_kernel, deploy_ramdisk] = images.new;
  for (const place of [SOURCE, SPARE]) {
    const driver_info = { deploy_kernel, deploy_ramdisk };
    await enrolled(stack, place, driver_info);
  }
  await volumes(stack);
  await telling(stack.ironic).goes(NODES[SOURCE], "provide", "available");
  // Storage external writes an image where Nova names one.
  const { ironic, sim, db } = stack;
  const waiting = waitingIn(db(ironic.database));
  const agents = await startAgents(ironic.url, machinesOf(sim, NODES), waiting);
  ends.push(agents.stop);
  const compute = computeOf(stack, "bm-1", { sync: NOVA_SYNC });
  ends.push(compute.stop);
  await compute.start();
  await until("Placement has both machines", async () => {
    const mapped = await stack.db(NOVA_DATABASES.api)("host_mappings").where({ host: "bm-1" });
    const all = await Promise.all(NODES.map((node) => inventory(stack, node)));
    return mapped.length === 1 && all.every((one) => one !== null) ? null : JSON.stringify(all);
  });
  const server = await booted(stack, compute, { image: images.disk, network });
  const folder = privateFolder(t);
  const account = await stack.server.restrictedUser("tool", NOVA_DATABASES.cell, "SELECT");
  await stack
    .db(NOVA_DATABASES.cell)
    .raw(`GRANT UPDATE ON ${NOVA_DATABASES.cell}.instances TO '${account.user}'@'127.0.0.1'`);
  writeFileSync(join(folder, "nova"), account.url, { mode: 0o600 });
  return {
    ...{ stack, compute, server, folder },
    words: ["--ironic-url", stack.ironic.url, "--nova-db", `file:${join(folder, "nova")}`],
    env: { ...stack.cloud.env, OS_PLACEMENT_ENDPOINT_OVERRIDE: stack.placement },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const CAPABLE = { capabilities: "iscsi_boot:True" };
const PROPERTIES = { cpus: 4, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64", ...CAPABLE };

async function enrolled(stack: Stack, place: number, images: Body): Promise<void> {
  const { sim, secrets, ironic } = stack;
  const { tell, goes, becomes } = telling(ironic);
  const uuid = uuidOf(1, place);
  await tell("POST", "/v1/nodes", {
    ...{ uuid, name: `n-${place}`, driver: "ipmi", resource_class: "bm" },
    ...{ storage_interface: "external", automated_clean: false },
    properties: PROPERTIES,
    driver_info: {
      ...{ ipmi_address: sim.addresses[place], ipmi_username: "admin" },
      ...{ ipmi_password: secrets[place], ipmi_cipher_suite: "3", ...images },
    },
  });
  const address = `52:54:00:00:01:0${place}`;
  await tell("POST", "/v1/ports", { node_uuid: uuid, address });
  await goes(uuid, "manage", "manageable");
  await becomes(uuid, { power_state: "power off" });
}

async function volumes({ ironic }: Stack): Promise<void> {
  const { tell } = telling(ironic);
  const node_uuid = NODES[SOURCE];
  const iqn = { type: "iqn", connector_id: "iqn.2026-01.org.example:n-0" };
  await tell("POST", "/v1/volume/connectors", { uuid: uuidOf(6, 0), node_uuid, ...iqn });
  const portal = { target_portal: "127.0.0.1:3260", target_lun: 1 };
  await tell("POST", "/v1/volume/targets", {
    ...{ uuid: uuidOf(5, 0), node_uuid, volume_type: "iscsi", boot_index: 0, volume_id: "v-0" },
    properties: { ...portal, target_iqn: "iqn.2026-01.org.example:v-0" },
  });
}

async function booted(
  stack: Stack,
  compute: Compute,
  { image: imageRef, network }: { readonly image: string; readonly network: string },
): Promise<string> {
  await until("Nova offers the source", async () => {
    const offer = await inventory(stack, NODES[SOURCE]);
    return offer?.reserved === 0 ? null : JSON.stringify(offer);
  });
  const server = { name: "web", flavorRef: "bm", imageRef, networks: [{ uuid: network }] };
  const pinned = { ...server, hypervisor_hostname: NODES[SOURCE] };
  const made = await stack.asks<Named<"server">>("nova", "POST", "/servers", { server: pinned });
  const id = String(made?.server.id);
  await until("the server is ACTIVE", async () => {
    const now = await serverOf(stack, id);
    const errors = compute.log().match(/^.* ERROR .*$/gm) ?? [];
    assert.notEqual(now.status, "ERROR", errors.slice(-40).join("\n"));
    return now.status === "ACTIVE" && stack.sim.power(SOURCE) ? null : String(now.status);
  });
  return id;
}

async function serverOf({ asks }: Stack, server: string): Promise<Body> {
  const found = await asks<Named<"server">>("nova", "GET", `/servers/${server}`);
  return found?.server ?? {};
}

const command = ({ words, folder }: Scene, name: string): readonly string[] => [
  ...["node", "switchover", "n-0", "n-1", "--run", join(folder, name), ...words],
  ...["--placement", "--proof-interval", "1"],
];

async function rowOf({ stack, server }: Scene): Promise<readonly unknown[]> {
  const row = await stack
    .db(NOVA_DATABASES.cell)("instances")
    .where({ uuid: server })
    .first("node", "host", "task_state");
  return [row.node, row.host, row.task_state];
}

/** Neutron's ports of a node, and the cards they are on. */
async function vifsOf({ stack }: Scene, node: string): Promise<readonly unknown[]> {
  type Vifs = { readonly vifs: readonly Body[] };
  const found = await stack.asks<Vifs>("ironic", "GET", `/nodes/${node}/vifs`);
  const all: unknown[] = [];
  for (const { id } of found?.vifs ?? []) {
    const port = await stack.asks<Named<"port">>("neutron", "GET", `/ports/${String(id)}`);
    all.push([port?.port.mac_address, port?.port.device_id, port?.port.fixed_ips]);
  }
  return all;
}

async function placed({ stack, server }: Scene): Promise<readonly string[]> {
  const path = `/allocations/${server}`;
  const found = await stack.asks<Named<"allocations">>("placement", "GET", path);
  return Object.keys(found?.allocations ?? {});
}

async function takenBack(at: Scene): Promise<void> {
  // The transaction that changes the node is the second.
  const env = { ...at.env, NOVA2IRONIC_FAILPOINT: "nova.commit.after:2:kill" };
  await runs(128, command(at, "back"), { env });
  assert.deepEqual(await rowOf(at), [NODES[SPARE], "bm-1", "migrating"]);
  const own = ["--run", join(at.folder, "back"), ...at.words, "--all", "--yes"];
  await runs(0, ["rollback", ...own], { env: at.env });
  assert.deepEqual(await rowOf(at), [NODES[SOURCE], "bm-1", null]);
  assert.deepEqual(await placed(at), [NODES[SOURCE]]);
  const target = await at.stack.asks<Body>("ironic", "GET", `/volume/targets/${uuidOf(5, 0)}`);
  assert.equal(target?.node_uuid, NODES[SOURCE]);
  assert.ok(at.stack.sim.power(SOURCE));
}

async function switched(at: Scene): Promise<void> {
  const before = at.stack.sim.commands().length;
  const [vif, ...more] = (await vifsOf(at, NODES[SOURCE])) as readonly (readonly unknown[])[];
  assert.deepEqual([vif?.slice(0, 2), more], [["52:54:00:00:01:00", at.server], []]);
  await runs(0, command(at, "one"), { env: at.env });
  assert.deepEqual(await vifsOf(at, NODES[SOURCE]), []);
  // Its card is the spare's; its addresses, and whose it is, stay.
  assert.deepEqual(await vifsOf(at, NODES[SPARE]), [["52:54:00:00:01:01", at.server, vif?.[2]]]);
  assert.deepEqual(await rowOf(at), [NODES[SPARE], "bm-1", null]);
  assert.deepEqual(await placed(at), [NODES[SPARE]]);
  const commands = at.stack.sim.commands().slice(before);
  const told = commands.filter((line) => line.startsWith(`${SOURCE} `));
  const words = told.map((line) => line.split(" ")[1]);
  assert.deepEqual(words, ["shutdown"], commands.join());
  const path = `/resource_providers/${NODES[SOURCE]}/usages`;
  const used = await at.stack.asks<Named<"usages">>("placement", "GET", path);
  assert.equal(used?.usages.CUSTOM_BM, 0);
  await runs(0, ["verify", "--run", join(at.folder, "one"), ...at.words], { env: at.env });
}

async function keepsRunning(at: Scene): Promise<void> {
  const before = at.stack.sim.commands().length;
  await comparesPower(at.compute);
  assert.equal((await serverOf(at.stack, at.server)).status, "ACTIVE");
  assert.deepEqual(at.stack.sim.commands().slice(before), []);
  assert.ok(at.stack.sim.power(SPARE));
}

async function stopsAndStarts(at: Scene): Promise<void> {
  const { stack, server } = at;
  const before = stack.sim.commands().length;
  await stopAndStart(stack, { server, on: () => stack.sim.power(SPARE) });
  const commands = stack.sim.commands().slice(before);
  assert.match(String(commands[0]), /^1 shutdown/);
  assert.ok(commands.includes("1 power 1"), commands.join());
  for (const line of commands) assert.equal(line.split(" ")[0], `${SPARE}`, commands.join());
}
