import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { firstAlone } from "../../../grenade/lib/nova-races.ts";
import { until } from "../../../grenade/lib/wait.ts";
import { ended, owners, purged, servers, tool } from "./host-tool.ts";
import { takenOverLegacy } from "./legacy-takeover.ts";
import { asked, stopAndStart } from "./switched.ts";
import {
  aged,
  type Compute,
  dumped,
  dumpedWhole,
  heldStill,
  keepLogs,
  looked,
  type TwoComputes,
  twoComputes,
} from "./two-computes.ts";
import { twoLegacy } from "./two-legacy.ts";

/** What a BMC is told when Nova stops a server, and when it starts one. */
const STOP = ["shutdown 1"];
const START = ["power 1"];

test("two nova-computes of a real cloud, one of which dies", async (t) => {
  const cloud = await twoComputes(t);
  const step = async (name: string, does: (t: TestContext) => Promise<void>): Promise<void> => {
    await t.test(name, async (own) => {
      await does(own).catch((cause) => {
        keepLogs(cloud);
        throw cause;
      });
    });
  };
  await step("a host that lives is left alone, in nova-manage's words", () => lives(cloud));
  await out(cloud);
  await step("one row in place of two: Nova does the other by itself", () => byHand(cloud));
  await step("a host is moved by plan, and back, to the last column of all rows", () =>
    movedExactly(cloud),
  );
  await step("a host is moved by plan, and served, and back", () => moved(cloud));
  await step("a server boots on an idle machine that was moved", () => boots(cloud));
  await step("a host is killed, and its machines taken over", () => killed(cloud));
  // Hosts of nova-baremetal come up meanwhile: nothing below counts rows of the whole cloud.
  const ends: (() => Promise<void> | void)[] = [];
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0).reverse()) await one();
  };
  t.after(end);
  const legacy = twoLegacy(cloud, (one) => ends.push(one));
  legacy.catch(() => undefined); // thrown where it is awaited
  await step("a host stands still, and comes back", () => stopped(cloud));
  await step("a host of nova-baremetal is killed, and its machines taken over", async (own) => {
    own.after(end);
    await takenOverLegacy(cloud, await legacy);
  });
});

async function forcedDown({ stack, nova }: TwoComputes, host: string, forced_down: boolean) {
  const { uuid } = await nova("services").where({ host, deleted: 0 }).first("uuid");
  await stack.asks("nova", "PUT", `/os-services/${uuid}`, { forced_down });
}

function all(cloud: TwoComputes, host: string) {
  return cloud.tenants.map(() => [host, [host]]);
}

async function lives(cloud: TwoComputes): Promise<void> {
  const { a, b } = cloud;
  const before = await dumped(cloud);
  const words = ["--from", a.host, "--to", b.host];
  const { host } = tool(cloud, "lives");
  const said = /Plan: 0 of (\d+) machines .* 0 already there; \1 blocked/;
  ended(await host("plan", ...words), 0, said);
  ended(await host("move", "--yes"), 4, "Source service is not yet forced down!");
  const { host: other } = tool(cloud, "lives-on");
  const taken = await other("takeover", ...words, "--confirmed-down");
  ended(taken, 4, /N2I-E316 nova-compute of bm-1 reported/);
  assert.deepEqual(await dumped(cloud), before);
  await forcedDown(cloud, b.host, true);
  const { host: third } = tool(cloud, "lives-not");
  ended(await third("plan", ...words), 0);
  ended(await third("move", "--yes"), 4, "Destination compute is forced down!");
  await forcedDown(cloud, b.host, false);
  assert.deepEqual(await owners(cloud), all(cloud, a.host));
  assert.deepEqual(cloud.told(), []);
}

/** Takes the first host out of service, as an operator does before he works on it. */
async function out(cloud: TwoComputes): Promise<void> {
  const { a, b } = cloud;
  await a.stop();
  await forcedDown(cloud, a.host, true);
  await idleAt(cloud, b);
  await aged(cloud, a);
}

/** An operator's own recipe, one UPDATE: what verify says of it before and after the resource tracker ran. */
async function byHand(cloud: TwoComputes): Promise<void> {
  const { a, b, nova, tenants } = cloud;
  const [first] = tenants.slice(0, 1);
  assert.ok(first);
  const { host, verify } = tool(cloud, "by-hand");
  ended(await host("plan", "--node", first.node, "--to", b.host), 0);
  b.signal("SIGSTOP");
  await nova("instances").where({ uuid: first.server }).update({ host: b.host });
  ended(await verify(), 2, first.node);
  b.signal("SIGCONT");
  await until("the resource tracker follows", async () => {
    const [owner] = await owners(cloud, [first]);
    return owner?.[1]?.includes(b.host) ? null : JSON.stringify(owner);
  });
  ended(await verify(), 0);
  await stopAndStart(cloud.stack, first);
  assert.deepEqual(
    cloud.told(),
    [...STOP, ...START].map((one) => `${first.name} ${one}`),
  );
  await nova("instances").where({ uuid: first.server }).update({ host: a.host });
  await nova("compute_nodes")
    .where({ hypervisor_hostname: first.node, deleted: 0 })
    .update({ host: a.host });
}

/** While no nova-compute runs: one that does counts its machines' resources anew whenever they come or go. */
async function movedExactly(cloud: TwoComputes): Promise<void> {
  const { a, b } = cloud;
  await heldStill(cloud, b);
  const before = await dumpedWhole(cloud);
  const { host, back } = tool(cloud, "exact");
  const words = ["--from", a.host, "--to", b.host, "--service-down-time", "1"];
  ended(await host("plan", ...words), 0);
  assert.deepEqual(await dumpedWhole(cloud), before);
  ended(await host("move", "--yes"), 0);
  assert.deepEqual(await owners(cloud), all(cloud, b.host));
  ended(await back(), 0);
  assert.deepEqual(await dumpedWhole(cloud), before);
  b.signal("SIGCONT");
}

async function moved(cloud: TwoComputes): Promise<void> {
  const { a, b, nova, tenants } = cloud;
  const services = await nova("services").where({ binary: "nova-compute", deleted: 0 });
  const idOf = (host: string) => services.find((one) => one.host === host).id;
  // As rows are since 28.0.0; this Nova leaves the column NULL and asks nothing of it.
  const shaped = tenants.slice(2).map(({ node }) => node);
  const rows = () => nova("compute_nodes").whereIn("hypervisor_hostname", shaped);
  await rows().update({ service_id: idOf(a.host) });
  const { host, verify, back } = tool(cloud, "moved");
  ended(await host("plan", "--from", a.host, "--to", b.host), 0);
  ended(await host("move", "--yes"), 0);
  assert.deepEqual(await owners(cloud), all(cloud, b.host));
  const ids = await nova("compute_nodes")
    .whereIn(
      "hypervisor_hostname",
      tenants.map(({ node }) => node),
    )
    .select("service_id", "hypervisor_hostname");
  assert.deepEqual(
    tenants.map(({ node }) => ids.find((one) => one.hypervisor_hostname === node).service_id),
    [null, null, idOf(b.host), idOf(b.host)],
  );
  await looked(b);
  ended(await verify(), 0);
  ended(await back(), 0);
  assert.deepEqual(await owners(cloud), all(cloud, a.host));
  await rows().update({ service_id: null });
  await forcedDown(cloud, a.host, false);
  await a.start();
  assert.deepEqual(cloud.told(), []);
}

/** Waits until Nova's hash ring has given every idle machine to this host. */
async function idleAt({ nova, idle }: TwoComputes, { host }: Compute): Promise<void> {
  await until(`idle machines are of ${host}`, async () => {
    const rows = await nova("compute_nodes")
      .where({ deleted: 0, host })
      .whereIn("hypervisor_hostname", idle);
    return rows.length === idle.length ? null : `${rows.length} are`;
  });
}

async function boots(cloud: TwoComputes): Promise<void> {
  const { a, b, nova, idle } = cloud;
  const [node = ""] = idle;
  const row = () => nova("compute_nodes").where({ hypervisor_hostname: node, deleted: 0 });
  const owner = (await row().first("host")).host;
  const [from, to] = owner === a.host ? [a, b] : [b, a];
  from.signal("SIGSTOP");
  // So that the tool moves it and not the hash ring, which is without a host that is down.
  await heldStill(cloud, to);
  await forcedDown(cloud, from.host, true);
  await aged(cloud, from);
  const { host } = tool(cloud, "idle");
  ended(await host("plan", "--node", node, "--to", to.host), 0);
  ended(await host("move", "--yes"), 0);
  assert.deepEqual(await row().select("host"), [{ host: to.host }]);
  to.signal("SIGCONT");
  const made = await cloud.boot("newcomer", node);
  assert.deepEqual(await owners(cloud, [made]), [[to.host, [to.host]]]);
  from.signal("SIGCONT");
  await forcedDown(cloud, from.host, false);
  assert.deepEqual(
    cloud.told().filter((line) => line.startsWith("tenant-")),
    [],
  );
}

async function killed(cloud: TwoComputes): Promise<void> {
  const { a, b, stack, tenants } = cloud;
  const [waiting] = tenants;
  assert.ok(waiting);
  a.signal("SIGKILL");
  await asked(stack, waiting.server, "stop");
  const { host, verify, back } = tool(cloud, "killed");
  const words = ["--from", a.host, "--to", b.host, "--confirmed-down"];
  const shown = await host("takeover", ...words, "--plan");
  ended(
    shown,
    0,
    `task_state powering-off is set`,
    /stop, requested at \S+ \S+, waits for nova-compute on/,
  );
  const taken = await host("takeover", ...words, "--site", accepting(cloud));
  ended(taken, 0, `purge_queue compute.${a.host}`);
  // The request that waits; what else Nova sent it meanwhile goes too.
  assert.notEqual(await purged(cloud, a.host), 0);
  assert.deepEqual(await owners(cloud), all(cloud, b.host));
  ended(await verify(), 0);
  const before = await servers(cloud, tenants);
  await a.start();
  await looked(a, 0);
  assert.deepEqual(cloud.told(), [], "what was asked of the dead host is never done");
  assert.deepEqual(await servers(cloud, tenants), before);
  // The returned host counts on while it is fenced.
  ended(await verify(), 2, a.host);
  await firstAlone(tenants, (one) => stopAndStart(cloud.stack, one));
  const told = cloud.told();
  for (const { name } of tenants)
    assert.deepEqual(
      told.filter((line) => line.startsWith(`${name} `)),
      [...STOP, ...START].map((one) => `${name} ${one}`),
    );
  assert.equal(told.length, tenants.length * 2, told.join("\n"));
  await a.stop();
  // A nova-compute always counts itself into its ring, so the fenced one may have taken idle machines.
  await idleAt(cloud, b);
  ended(await verify(), 0);
  ended(await back(), 0);
  assert.deepEqual(await owners(cloud), all(cloud, a.host));
  await a.start();
  await stopAndStart(cloud.stack, waiting);
  assert.deepEqual(
    cloud.told(),
    [...STOP, ...START].map((one) => `${waiting.name} ${one}`),
  );
}

/** A site document that takes requests of dead hosts for lost. */
function accepting({ folder }: TwoComputes): string {
  const path = join(folder, "site.json");
  const accept = ["N2I-D260", "N2I-D266"].map((finding) => ({ finding, reason: "it is emptied" }));
  const machines = [{ match: {}, set: {}, accept }];
  writeFileSync(path, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  return path;
}

async function stopped(cloud: TwoComputes): Promise<void> {
  const { a, b, nova, tenants } = cloud;
  a.signal("SIGSTOP");
  const { host, verify } = tool(cloud, "stopped");
  const words = ["--from", a.host, "--to", b.host];
  const said = `rabbitmqctl purge_queue compute.${a.host}`;
  ended(await host("takeover", ...words, "--confirmed-down"), 0, said);
  assert.deepEqual(await owners(cloud), all(cloud, b.host));
  const before = await servers(cloud, tenants);
  const since = a.log().length;
  a.signal("SIGCONT");
  await looked(a, since);
  ended(await verify(), 2, a.host);
  assert.deepEqual(await servers(cloud, tenants), before);
  assert.deepEqual(cloud.told(), []);
  const readmit = () => host("readmit", a.host, "--queue-purged", "--yes");
  ended(await readmit(), 4, /N2I-E319 nova-compute of bm-1 runs again: stop it first/);
  await a.stop();
  ended(await readmit(), 0);
  const row = await nova("services").where({ host: a.host, deleted: 0 }).first("forced_down");
  assert.equal(Number(row.forced_down), 0);
  await a.start();
  await Promise.all([looked(a, 0), looked(b)]);
  assert.deepEqual(await owners(cloud), all(cloud, b.host));
  assert.deepEqual(cloud.told(), []);
  await firstAlone(tenants, (one) => stopAndStart(cloud.stack, one));
}
