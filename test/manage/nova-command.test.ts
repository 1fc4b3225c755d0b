import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Json } from "../../src/lib/json.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type Fault, instead, isWrite } from "../support/faulty-service.ts";
import { blocks, commands, expected, page } from "../support/manual.ts";
import { addRunning, dumped, inMemory, macOf, uuidOf } from "./in-memory.ts";
import { assertIs } from "./nova-expect.ts";
import { ID, type NovaInMemory, RIVAL } from "./nova-memory.ts";
import { loginAt, manage, NOVA, place, tokenFor, writes } from "./nova-place.ts";
import { BROKEN, eventsIn, LOST } from "./scene.ts";

test("the command makes a server of Nova, tells its two events, compares it and takes it back", async (t) => {
  const { cloud, at, how, undone } = await place(t);
  const list = [
    "node",
    "list",
    "--adoptable",
    "--ironic-url",
    cloud.url,
    "-f",
    "value",
    "-c",
    "Name",
  ];
  const listed = async (): Promise<string> => (await runs(0, list, how)).out;
  assert.equal(await listed(), "n-1\n");
  const ports = [uuidOf(3, 1).toUpperCase(), uuidOf(3, 1)].flatMap((id) => ["--port", id]);
  const words = [...manage, ...NOVA, ...ports, ...at];
  const { out, err } = await runs(0, [...words, "--json", "-f", "json"], how);
  const [row] = JSON.parse(out) as readonly { readonly [column: string]: Json }[];
  assert.deepEqual([row?.UUID, row?.Result], [ID, "managed"]);
  assert.ok(cloud.servers.has(String(row?.Server)));
  const kept = ["dns_name", "binding:profile", "binding:host_id"].map((name) => cloud.port[name]);
  assert.deepEqual(kept, ["db", { physical_network: "rack" }, ID]);
  // Until it is built, right before its hardware comes back, and before its maintenance ends.
  const shown = cloud.calls.filter((call) => call.startsWith(`GET /servers/${row?.Server}`));
  const acts = `GET /servers/${row?.Server}/os-instance-actions`;
  assert.deepEqual(shown.slice(-2), [acts, acts]);
  const events = eventsIn(err).map(({ event }) => event);
  assert.deepEqual(events, ["manage.start", "manage.end"]);
  assert.equal(await listed(), "");
  await runs(0, ["verify", ...at], how);
  const { driver = null } = cloud.node;
  cloud.node.driver = "fake-hardware";
  const found = await runs(2, ["verify", ...at], how);
  assert.match(found.out, /its fake-hardware driver does not control a machine/);
  cloud.node.driver = driver;
  const added = { id: uuidOf(3, 2), device_id: String(row?.Server) };
  cloud.network.set(added.id, added);
  const unmanaged = await runs(2, ["node", "unmanage", ID, ...at, "--yes"], how);
  assert.match(unmanaged.out + unmanaged.err, /now has port 3\S+2: detach it first/);
  cloud.network.delete(added.id);
  await undone();
  assert.equal(await listed(), "n-1\n");
});

/** Calls before a machine gets its hardware back, and while it does, and whether Nova could reach it then. */
const MOMENTS = [
  ["before its machine gets its hardware back", /^PUT .*maintenance$/, false],
  ["while its machine gets its hardware back", /^PATCH .*nodes/, true],
] as const;

for (const [when, call, reaches] of MOMENTS)
  test(`a server that its user stops ${when} is taken back, its machine as it was, and made anew by the same command`, async (t) => {
    const { cloud, at, how, before, undone } = await place(t);
    const { node, servers } = cloud;
    let open = true;
    let reached = false;
    cloud.use((heard) => {
      const [server] = servers.values();
      reached ||= !open && server !== undefined && node.driver === "ipmi";
      if (open && server !== undefined && call.test(heard)) {
        open = false;
        server["OS-EXT-STS:task_state"] = "powering-off";
      }
    });
    const words = [...manage, ...NOVA, ...at, "-f", "value", "-c", "Result", "-c", "Why"];
    const ran = await runs(4, words, how);
    assert.deepEqual([open, reached], [false, reaches], ran.err);
    cloud.use(() => null);
    assert.match(ran.out, /^left server \S+ is ACTIVE, powering-off; .*rolled back$/m);
    assert.equal(cloud.dump(), before);
    await runs(0, words, how);
    await undone();
  });

for (const [when, call, reaches] of MOMENTS)
  test(`a server that Nova deletes ${when}, without its nova-compute, leaves it on fake hardware`, async (t) => {
    const { cloud, at, how, undone } = await place(t);
    const { node, port, servers } = cloud;
    let [isGone, reached] = [false, false];
    cloud.use((heard) => {
      reached ||= isGone && node.driver === "ipmi";
      if (servers.size > 0 && call.test(heard)) {
        isGone = true;
        servers.clear();
        Object.assign(port, { device_id: "", device_owner: "", "binding:host_id": "" });
      }
    });
    const ran = await runs(5, [...manage, ...NOVA, ...at, "-f", "value", "-c", "Why"], how);
    assertIs({ cloud }, "fake-hardware", true, 0);
    assert.equal(reached, reaches, ran.out);
    cloud.use(() => null);
    // A nova-compute that comes up tears down what it still has.
    Object.assign(node, FREE);
    await undone();
  });

const FREE = { provision_state: "available", instance_info: {}, instance_uuid: null };

/** No mark can be taken off a machine that is in service with its server. */
function keepMark({ node, servers, fail }: NovaInMemory): void {
  const isOut = () => node.driver === "ipmi" && node.maintenance === false && servers.size > 0;
  fail((call) => call.startsWith("PATCH") && isOut(), instead(400));
}

test("a server whose machine keeps its mark is not taken back, and the same command ends it", async (t) => {
  const { cloud, at, how } = await place(t);
  const { node, servers } = cloud;
  keepMark(cloud);
  const columns = ["-f", "value", "-c", "Result", "-c", "Server", "-c", "Why"];
  const words = [...manage, ...NOVA, ...at, ...columns];
  const ran = await runs(3, words, how);
  const [server] = servers.keys();
  assert.match(ran.out, new RegExp(`${server}.*in service|in service.*${server}`));
  assert.match(ran.out, /its mark was not removed: PATCH of node 1\S+ is refused/);
  assert.match(ran.err, /Run the same command again: it removes this run's mark/);
  assert.deepEqual([servers.size, node.maintenance], [1, false]);
  cloud.use(() => null);
  await runs(0, words, how);
  assert.deepEqual([servers.size, node.extra], [1, { rack: 1 }]);
});

test("another flavor after a death is refused by --dry-run too, and what is taken back is said to be", async (t) => {
  const { cloud, at, how, before } = await place(t);
  const { node } = cloud;
  // Nobody answers once it is free on fake hardware.
  cloud.fail((call) => node.provision_state === "available" && !call.startsWith("GET"), BROKEN);
  const words = [...manage, ...NOVA, ...at, "-f", "value", "-c", "Result", "-c", "Why"];
  assert.notEqual((await run(words, how)).status, 0);
  cloud.fail("GET /flavors/tin", instead(200, TIN));
  assert.equal(node.driver, "fake-hardware");
  const other = words.map((word) => (word === "gold" ? "tin" : word));
  const begun = "it was started with flavor gold: pass the same values, or it is rolled back";
  const dry = await runs(4, [...other, "--dry-run"], how);
  assert.equal(dry.out, `left ${begun}\n`);
  assert.equal(node.driver, "fake-hardware");
  const ran = await run(other, how);
  assert.equal(ran.out, `left ${begun}; rolled back\n`);
  assert.equal(cloud.dump(), before);
  await runs(0, words, how);
});

const TIN = { flavor: { extra_specs: { "resources:CUSTOM_GOLD": "1" } } };

test("a machine that another's server got first stays on fake hardware, and the exit status is 5", async (t) => {
  const { cloud, at, how, rollback, undone } = await place(t);
  const { node, rules } = cloud;
  rules.rival = RIVAL;
  const ran = await runs(5, [...manage, ...NOVA, ...at, "-f", "value", "-c", "Why"], how);
  assert.match(ran.out, new RegExp(`No valid host.*it has instance ${RIVAL}`));
  assert.match(ran.out, /it stays on fake hardware, in maintenance/);
  const resolve = /Not rolled back[.] Resolve the reason listed for each node, then run: nova2ir/;
  assert.match(ran.err, new RegExp(`${resolve.source}onic rollback --run .*--node ${ID}`));
  const stands = () => [node.driver, node.maintenance, node.instance_uuid];
  assert.deepEqual(stands(), ["fake-hardware", true, RIVAL]);
  await rollback(2);
  assert.deepEqual(stands(), ["fake-hardware", true, RIVAL]);
  // The other's server is deleted.
  Object.assign(node, FREE);
  await undone();
});

test("a machine whose network_interface is neutron gets its server where the cut is accepted, and its port is bound as before", async (t) => {
  const { cloud, at, how, rollback } = await place(t);
  const { node, port, ports, calls } = cloud;
  const wire = { local_link_information: [{ switch_id: macOf(9), port_id: "p1" }] };
  node.network_interface = "neutron";
  port["binding:profile"] = wire;
  for (const card of ports.values())
    Object.assign(card, { extra: {}, internal_info: { tenant_vif_port_id: port.id } });
  const before = cloud.dump();
  const words = [...manage, ...NOVA, ...at];
  assert.match((await runs(4, words, how)).err, /N2I-E370 .*pass --accept-network-cut/);
  assert.deepEqual([writes(cloud), cloud.dump()], [[], before]);
  const cut: string[] = [];
  cloud.use((call) => {
    // Whoever has it in service has its network too.
    if (call.startsWith("DELETE") && node.driver === "ipmi")
      cut.push(`${node.network_interface} ${port["binding:vif_type"]}`);
  });
  await runs(0, [...words, "--accept-network-cut"], how);
  const [server] = cloud.servers.keys();
  const stands = [node.network_interface, node.instance_uuid, port.device_id];
  assert.deepEqual(stands, ["neutron", server, server]);
  const bound = ["binding:host_id", "binding:vif_type", "binding:profile"].map((of) => port[of]);
  assert.deepEqual(bound, [ID, "other", wire]);
  await runs(0, ["verify", ...at], how);
  await rollback();
  assert.equal(cloud.dump(), before);
  assert.deepEqual(cut, ["neutron other", "neutron other"]);
  assert.ok(calls.some((call) => call.includes("reset_interfaces")));
});

test("a quota of Nova is a reason of the machine, and what the login may not is the login's", async (t) => {
  for (const [message, code] of [
    ["Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", "N2I-E370"],
    ["Maximum number of metadata items exceeds 128", "N2I-E370"],
    ["Policy doesn't allow os_compute_api:servers:create to be performed.", "N2I-E211"],
  ] as const) {
    const { cloud, at, how, before } = await place(t);
    cloud.fail("POST /servers", instead(403, { forbidden: { code: 403, message } }));
    const ran = await run([...manage, ...NOVA, ...at], how);
    assert.ok(ran.err.includes(code) && ran.err.includes(message), ran.err);
    assert.doesNotMatch(ran.out, /not reached/);
    assert.equal(cloud.dump(), before);
  }
});

test("a server that is in service stays its user's, whatever another machine's login lacks, and nobody is told to take it back", async (t) => {
  const { cloud, at, how } = await place(t);
  const { node } = cloud;
  const other = { ...node, uuid: uuidOf(1, 2), name: "n-2" };
  keepMark(cloud);
  const columns = ["-f", "value", "-c", "Result"];
  const words = [...manage, ...NOVA, ...at];
  assert.equal((await run([...words, ...columns], how)).out, "in service\n");
  assert.equal((await run([...words, "--dry-run", ...columns], how)).out, "in service\n");
  const run_ = ["--run", at[1] ?? ""];
  for (const asks of ["status", "next"])
    assert.doesNotMatch((await run([asks, ...run_], how)).out, /^(\| next|Next:).*rollback/m);

  cloud.use((call) => {
    if (!call.includes(other.uuid)) return null;
    if (call.includes("resource_providers")) return instead(403);
    const found = /portgroups|ports/.test(call) ? { ports: [], portgroups: [] } : other;
    return isWrite(call) ? null : instead(200, found);
  });
  const file = join(privateFolder(t), "machines.json");
  const second = { node: other.uuid, name: "web-2" };
  writeFileSync(file, JSON.stringify([second, { node: ID, name: "Web server 1" }]));
  const many = ["node", "manage", "--from", file, ...NOVA, ...at, "--in-flight", "1"];
  const denied = await run(many, how);
  assert.match(denied.err, /N2I-E211/);
  assertIs({ cloud }, "ipmi", false, 1);
});

test("a run that makes servers in one project is none for a login of another, which would miss one", async (t) => {
  const { cloud, at, how, before } = await place(t);
  const login = loginAt(cloud, how);
  const folder = at.slice(0, 2);
  let [project, isRequested] = ["p", false];
  const seen = (call: string): Fault | null => {
    if (call.startsWith("POST /v3/")) return { done: false, says: tokenFor(project) };
    const isList = /^GET .servers/.test(call);
    return project === "q" && isList ? instead(200, { servers: [] }) : null;
  };
  cloud.use((call) => {
    isRequested ||= call === "POST /servers";
    // Nova makes it, and nobody answers from then on.
    return isRequested ? LOST : seen(call);
  });
  const died = await runs(5, [...manage, ...NOVA, ...folder], login);
  assert.match(died.err, /N2I-E210/);
  cloud.use(seen);
  for (const server of cloud.servers.values())
    Object.assign(server, { status: "ERROR", "OS-EXT-SRV-ATTR:hypervisor_hostname": null });
  Object.assign(cloud.node, { provision_state: "available", instance_uuid: null });
  Object.assign(cloud.port, { device_id: "" });
  const [was, from] = [cloud.dump(), cloud.calls.length];
  project = "q";
  const why = /creates servers in project p, but the credentials are for project q/;
  const back = ["rollback", "--all", "--yes", ...folder];
  const others = [
    [...manage, ...NOVA, ...folder],
    ["verify", ...folder],
  ];
  for (const words of [back, [...back, "--plan"], ...others])
    assertRefusal(await run(words, login), 4, "N2I-E300", why);
  assert.equal(cloud.dump(), was);
  assert.ok(cloud.calls.slice(from).every((call) => /^GET |v3/.test(call)));
  project = "p";
  await runs(0, back, login);
  assert.deepEqual([cloud.servers.size, cloud.dump()], [0, before]);
});

test("the manual's commands of machines that run already do what the page says", async (t) => {
  const cloud = await inMemory(t);
  for (const at of [1, 2]) addRunning(cloud, at);
  const folder = privateFolder(t);
  const clouds = join(folder, "clouds.yaml");
  const { ironic: baremetal_endpoint_override, neutron: network_endpoint_override } = cloud;
  const lab = { auth_type: "none", baremetal_endpoint_override, network_endpoint_override };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab } }));
  writeFileSync(join(folder, "machines.csv"), "node,name,metadata.rack\nn-2,web-2,7\n");
  const here = (word: string) => (/^(s\d|machines\.csv)$/.test(word) ? join(folder, word) : word);
  const how = { env: { OS_CLIENT_CONFIG_FILE: clouds } };
  const says = async (words: readonly string[]): Promise<string> => {
    const { out, err } = await runs(0, words.map(here), how);
    return out + err;
  };
  const before = dumped(cloud);
  const managing = page("managing");
  let told = "";
  for (const words of commands(managing)) told += await says(words);
  const others = blocks(managing, "sh")
    .flatMap((block) => block.trim().split("\n"))
    .map((line) => line.replace(/ +#.*/, "").split(" ").slice(1))
    // test/manage/served.test.ts
    .filter(([command]) => command !== "serve");
  assert.equal(others.length, 3);
  for (const words of others)
    told += await says([...words, ...(words.includes("--from") ? [] : ["--yes"])]);
  for (const line of expected("managing")) assert.ok(told.includes(line), line);
  assert.equal(cloud.allocations.size, 1, "that of the file");
  await says(["rollback", "--run", "s2", "--all", "--yes"]);
  assert.equal(dumped(cloud), before);
});
