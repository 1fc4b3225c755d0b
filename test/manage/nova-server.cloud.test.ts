import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../../grenade/lib/wait.ts";
import { inFlight } from "../../src/systems/ironic-api/pool.ts";
import { runs, start } from "../hostile/cli.ts";
import { NOVA_DATABASES } from "../lab/cloud/nova.ts";
import { ironicFault } from "../lab/ironic/faulty.ts";
import { telling } from "../lab/ironic/telling.ts";
import { stopAndStart } from "../migrate/nova/switched.ts";
import { comparesPower } from "../migrate/nova/two-computes.ts";
import { type Chosen, failingProxies } from "./failing-proxies.ts";
import {
  type Body,
  dumps,
  hardwareOf,
  inventory,
  type NovaScene,
  nodeOf,
  novaScene,
  protect,
  type Running,
} from "./nova-scene.ts";

test("C-11: a machine that runs gets a server of a real Nova, and no BMC hears of it", {
  concurrency: true,
}, async (t) => {
  const at = await novaScene(t, 1 + ACTS.length);
  const [machine, ...others] = at.machines as [Running, ...Running[]];
  // Two that Ironic is not to undeploy, and does for nobody but this command.
  await Promise.all(at.machines.slice(0, 2).map((one) => protect(at, one)));
  const before = await dumps(at);
  const step = (name: string, does: (t: TestContext) => Promise<void>) => t.test(name, does);
  const off = others.at(-1) ?? assert.fail();
  const names = ["n-0", `n-${others.length}`];
  await step("it is ACTIVE in Nova, and as before in Ironic", () => managed(at, machine, names));
  await step("one that is off is SHUTOFF in Nova, and off", () => isOff(at, off));
  // Nova-compute has asked Ironic for its first one by now, which it must do alone.
  const failed = step("any call that fails on others is made again, or taken back", (own) =>
    failing(own, at),
  );
  await step("no power sync switches it off, or the other on", async () => {
    await keepsRunning(at, machine);
    await isOff(at, off);
  });
  await step("Nova's stop and start reach the BMC", () => switched(at, machine));
  await failed;
  const told = at.told();
  assert.deepEqual([...new Set(told.map((line) => line.replace(/ .*/, "")))], ["0"]);
  await step(
    "C-13: taken away again, everything is as it was, and no BMC hears of it",
    async () => {
      await runs(0, ["rollback", ...place(at, "one"), "--all", "--yes"], { env: at.env });
      await same(at, before);
      assert.ok(!off.on());
      assert.deepEqual(at.told(), told);
    },
  );
  await step("C-8: killed behind any line of the journal, it is taken back", async () => {
    await killed(at, others, before);
    assert.deepEqual(at.told(), told);
  });
  await step(
    "its node deleted first, its server is deleted in Nova, no BMC hears of it",
    async () => {
      await leaves(at, machine);
      assert.deepEqual(at.told(), told);
    },
  );
});

const place = ({ words, folder }: NovaScene, run: string): readonly string[] => [
  ...["--run", join(folder, run)],
  ...words,
];

const asked = (at: NovaScene, run: string, ...machines: string[]): readonly string[] => [
  ...["node", "manage", ...machines, ...place(at, run)],
  ...["--nova", "--flavor", "bm", "--watch", "3"],
];

/** These machines by one command, the first of which this is: they wait for Nova's resource tracker at once. */
async function managed(at: NovaScene, machine: Running, names: readonly string[]): Promise<void> {
  const before = await nodeOf(at, machine);
  const elsewhere = [...asked(at, "zone", "n-0", "web"), "--availability-zone", "az9"];
  const refused = await runs(64, elsewhere, { env: at.env });
  assert.match(refused.err, /N2I-E100 Nova has no availability_zone az9; it has /);
  assert.deepEqual(await nodeOf(at, machine), before);
  const file = join(at.folder, "machines.csv");
  writeFileSync(file, ["node,name", ...names.map((name) => `${name},web-${name}`)].join("\n"));
  const words = [...asked(at, "one", "--from", file), "-f", "json"];
  const { out } = await runs(0, words, { env: at.env });
  const [row] = JSON.parse(out) as readonly Body[];
  const server = String(row?.Server);
  // A sync writes what nova-compute's cache of nodes says, and looks at the node before it stops anything.
  await until("Nova's cache of nodes says that it is on", async () => {
    const told = await at.stack.asks<{ server: Body }>("nova", "GET", `/servers/${server}`);
    assert.equal(told?.server.status, "ACTIVE");
    const power = told?.server["OS-EXT-STS:power_state"];
    return power === 1 ? null : `power_state ${String(power)}`;
  });
  const { node: on, host, vm_state } = await instanceOf(at, server);
  assert.deepEqual([on, host, vm_state], [machine.uuid, at.compute.host, "active"]);
  const held = `/allocations/${server}`;
  const placed = await at.stack.asks<{ allocations: object }>("placement", "GET", held);
  assert.deepEqual(Object.keys(placed?.allocations ?? {}), [machine.uuid]);
  const node = await nodeOf(at, machine);
  assert.deepEqual(hardwareOf(node), hardwareOf(before));
  const expected = {
    ...{ ...node, provision_state: "active", instance_uuid: server, maintenance: false },
    ...{ power_state: "power on", extra: before.extra, automated_clean: before.automated_clean },
    ...{ protected: true, protected_reason: "a shop" },
  };
  assert.deepEqual(expected, node);
  const info = node.instance_info as Body;
  assert.deepEqual({ ...info, ...(before.instance_info as object) }, info);
  const bound = await at.stack.asks<{ port: Body }>("neutron", "GET", `/ports/${machine.port}`);
  const own = { device_id: server, "binding:host_id": machine.uuid, dns_name: "db-0" };
  assert.deepEqual({ ...bound?.port, ...own }, bound?.port);
  boundOnce(at, machine);
  assert.ok(machine.on());
  assert.deepEqual(at.told(), []);
  await runs(0, ["verify", ...place(at, "one")], { env: at.env });
}

function instanceOf({ stack }: NovaScene, uuid: unknown): Promise<Body> {
  const instances = stack.db(NOVA_DATABASES.cell)("instances");
  return instances.where({ uuid: String(uuid) }).first();
}

async function isOff(at: NovaScene, machine: Running): Promise<void> {
  const { instance_uuid, power_state, driver, maintenance } = await nodeOf(at, machine);
  const { vm_state, task_state } = await instanceOf(at, instance_uuid);
  assert.deepEqual(
    [vm_state, task_state, power_state, driver, maintenance, machine.on()],
    ["stopped", null, "power off", "ipmi", false, false],
  );
  boundOnce(at, machine);
  assert.deepEqual(at.told(), []);
}

async function keepsRunning(at: NovaScene, machine: Running): Promise<void> {
  await comparesPower(at.compute);
  assert.ok(machine.on());
  assert.deepEqual(at.told(), []);
}

/** Compares with the beginning, once Nova's resource tracker has set machines apart again; the list has each. */
async function same(at: NovaScene, before: string): Promise<void> {
  await until("Nova keeps all machines to itself again", async () => {
    const all = await Promise.all(at.machines.map(({ uuid }) => inventory(at.stack, uuid)));
    return all.every((one) => one?.reserved === 1) ? null : JSON.stringify(all);
  });
  assert.deepEqual((await dumps(at)).split("\n"), before.split("\n"));
  const words = ["node", "list", "--adoptable", ...at.words, "-f", "value", "-c", "Name"];
  const { out } = await runs(0, words, { env: at.env });
  const all = at.machines.map((_, index) => `n-${index}`);
  assert.deepEqual(out.trim().split("\n").toSorted(), all.toSorted());
}

/** What the journal has of a machine on its way, line by line. */
const ACTS = [
  ...["hold", "bind", "fake", "free", "state", "record", "made", "power", "swap", "release"],
  "handed",
];

const LAST = "release";

/** Each machine has a run of its own, which dies behind another line. */
async function killed(at: NovaScene, machines: readonly Running[], before: string): Promise<void> {
  const died = await inFlight([...ACTS.entries()], AT_ONCE, async ([line, act]) => {
    const env = { ...at.env, NOVA2IRONIC_FAILPOINT: `start.after:${line + 1}:kill` };
    const name = `n-${line + 1}`;
    const pinned = `nova:${at.compute.host}:${machines[line]?.uuid}`;
    const zone = act === LAST ? ["--availability-zone", pinned] : [];
    const ran = await start([...asked(at, act, name, `web-${name}`), ...zone], { env }).ended;
    assert.equal(ran.status, 128, `${act}: ${ran.out}${ran.err}`);
    const journal = readFileSync(join(at.folder, act, "journal.jsonl"), "utf8");
    return [...journal.matchAll(/"step":"(\w+)"/g)].at(-1)?.[1];
  });
  assert.deepEqual(died, ACTS);
  const [, , , , off] = machines;
  // Fake hardware, deleted: it is free, and its server not asked for.
  if (off !== undefined) assert.equal((await nodeOf(at, off)).driver, "fake-hardware");
  await inFlight(ACTS, AT_ONCE, async (act) => {
    const back = ["rollback", ...place(at, act), "--all", "--yes"];
    // One way back dies too, behind a call of which nobody heard the answer.
    const env = { ...at.env, NOVA2IRONIC_FAILPOINT: "rest.after:3:kill" };
    if (act === LAST) assert.equal((await start(back, { env }).ended).status, 128);
    await runs(0, back, { env: at.env });
  });
  await same(at, before);
}

const AT_ONCE = 3;

/** Whom Neutron's log has this machine's port taken from, and given to, since it runs. */
function bindings({ stack }: NovaScene, { port }: Running): readonly string[] {
  const told = new RegExp(`binding of ${port}: (from [\\w.-]+ to [\\w.-]+)`, "g");
  return [...readFileSync(stack.neutron.log, "utf8").matchAll(told)].map(([, one = ""]) => one);
}

/** Nova clears the port's host while it makes a server; it is bound again before the command ends, and stays so. */
function boundOnce(at: NovaScene, machine: Running): void {
  const { uuid } = machine;
  const once = [`from ${uuid} to nobody`, `from nobody to ${uuid}`];
  assert.deepEqual(bindings(at, machine), once);
}

/** As the manual has it of a machine that goes to another cloud: the other way round its disks are wiped. */
async function leaves(at: NovaScene, machine: Running): Promise<void> {
  await runs(0, asked(at, "leaves", "n-0", "web"), { env: at.env });
  const { instance_uuid } = await nodeOf(at, machine);
  const reason = "goes to another cloud";
  const { tell } = telling(at.stack.ironic);
  await tell("PUT", `/v1/nodes/${machine.uuid}/maintenance`, { reason });
  // It is protected, as the first one is.
  await tell("PATCH", `/v1/nodes/${machine.uuid}`, [{ op: "remove", path: "/protected" }]);
  await tell("DELETE", `/v1/nodes/${machine.uuid}`);
  const path = `/servers/${String(instance_uuid)}`;
  await at.stack.asks("nova", "DELETE", path);
  await until("Nova has deleted its server", async () => {
    const found = await at.stack.asks<{ server: object }>("nova", "GET", path);
    return found === null ? null : JSON.stringify(found.server);
  });
  assert.ok(machine.on());
}

async function switched(at: NovaScene, machine: Running): Promise<void> {
  const { instance_uuid: server } = await nodeOf(at, machine);
  await stopAndStart(at.stack, { server: String(server), on: machine.on });
  boundOnce(at, machine);
  const told = at.told();
  assert.match(String(told[0]), /^0 shutdown/);
  assert.ok(told.includes("0 power 1"), told.join());
}

/**
 * By the name of its run, and of its server: every answer is lost, or every other call is answered with 500. A call that
 * is refused is answered by the proxy: nova-copies.test has each of those, and its way back.
 */
const FAILS: { readonly [run: string]: Chosen } = {
  lost: () => ({ do: "lost" }),
  failed: (line, before) =>
    before.at(-1) === `failed ${line}` ? null : ironicFault(500, "the database went away"),
};

/**
 * One machine for each fault, concurrently, through proxies in front of the real Ironic, Nova and Neutron. Each
 * machine gets its server on its own hardware, and then loses it, with the same fault in both directions.
 */
export async function failing(t: TestContext, at: NovaScene): Promise<void> {
  // Another test uses the first machine.
  const all = Object.entries(FAILS).map((one, index) => fails(t, at, one, index + 1));
  // A failure is reported after all have ended, because they use the proxies.
  await Promise.allSettled(all);
  await Promise.all(all);
}

async function fails(
  t: TestContext,
  at: NovaScene,
  [run, fault]: readonly [string, Chosen],
  nth: number,
): Promise<void> {
  const [name, machine] = [`n-${nth}`, at.machines[nth] ?? assert.fail()];
  const before = await nodeOf(at, machine);
  const { words, env, failed } = await proxied(t, at, fault);
  const place = ["--run", join(at.folder, run), ...words];
  const asked = ["node", "manage", name, run, ...place, "--nova", "--flavor", "bm", "--watch", "3"];
  const ran = await runs(0, asked, { env });
  const node = await nodeOf(at, machine);
  const now = [node.provision_state, node.maintenance, node.power_state, node.protected];
  assert.deepEqual(now, ["active", false, "power on", before.protected], `${run}: ${ran.err}`);
  assert.deepEqual(hardwareOf(node), hardwareOf(before), run);
  assert.notEqual(node.instance_uuid, null, run);
  for (const service of ["v1/nodes", "v2.1/servers", "v2.0/ports"])
    assert.ok(failed().join().includes(service), `${run}: ${service}`);
  const back =
    run === "lost" ? ["node", "unmanage", name, ...place] : ["rollback", ...place, "--all"];
  await runs(0, [...back, "--yes"], { env });
}

/** The same cloud behind proxies, which fail calls once a machine stands on fake hardware. */
async function proxied(t: TestContext, { stack, words, env }: NovaScene, fault: Chosen) {
  const isFake = (line: string): boolean => line.endsWith("reset_interfaces=true");
  const { before, failed } = failingProxies(t, (line, lines) =>
    isFake(line) || lines.some(isFake) ? fault(line, lines) : null,
  );
  const own = await before(stack.ironic.url);
  return {
    words: words.map((word) => (word === stack.ironic.url ? own : word)),
    env: {
      ...env,
      OS_COMPUTE_ENDPOINT_OVERRIDE: `${await before(stack.nova.url)}/v2.1`,
      OS_NETWORK_ENDPOINT_OVERRIDE: await before(stack.neutron.url),
    },
    failed,
  };
}
