import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Knex } from "knex";
import { until } from "../../grenade/lib/wait.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { runs, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { startIpmiSim } from "../lab/bmc/sims.ts";
import { needsTools } from "../lab/bmc/tools.ts";
import { startNeutron } from "../lab/cloud/neutron.ts";
import { type Cloud, withCloud } from "../lab/cloud/start.ts";
import { connect } from "../lab/connect.ts";
import { freePort } from "../lab/daemon.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { telling } from "../lab/ironic/telling.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { realUsers } from "../proxy/real-users.ts";
import { switchedForReal } from "../switchover/real-switched.ts";
import { failingProxies } from "./failing-proxies.ts";
import { macOf, uuidOf } from "./in-memory.ts";
import { type RealScene, servedForReal } from "./real-served.ts";

/** Its class is changed right before Ironic makes the allocation, which ends in `error` and stays until it is deleted. */
async function endsInError(t: TestContext, at: RealScene): Promise<void> {
  const db = connect({ ...(await needs("mysql")), database: at.ironic.database });
  const classed = (resource_class: string) => update(db, 6, { resource_class });
  const states: unknown[] = [];
  try {
    const { before } = failingProxies(t, async (line) => {
      if (line === "POST /v1/allocations") await classed("silver");
      if (line.startsWith("DELETE /v1/allocations")) {
        const { body } = await apiOf(at.ironic)("GET", `/v1${line.split("/v1")[1]}`);
        states.push((body as Body).state);
      }
      return null;
    });
    const run = ["--run", join(at.folder, "fails"), "--ironic-url", await before(at.ironic.url)];
    const env = { ...at.env, OS_NETWORK_ENDPOINT_OVERRIDE: await before(at.neutron.url) };
    const asked = ["node", "manage", "n-6", "web-error", ...run, "-f", "value", "-c", "Why"];
    const { out } = await runs(4, asked, { env });
    assert.match(out, /silver.*rolled back/s);
  } finally {
    await classed("gold");
    await db.destroy();
  }
  assert.deepEqual(states, ["error"]);
}

function update(db: Knex, nth: number, values: object): Promise<unknown> {
  return db("nodes")
    .where({ uuid: uuidOf(1, nth) })
    .update(values);
}

const PASSWORD = "of-the-lab";
const MACHINES = 6;

test("C-9: machines of a real Ironic and Neutron are listed, managed and let go, and no BMC hears of it", async (t) => {
  const at = await scene(t);
  const before = await dumps(at);
  await t.test("the list has those that can be managed, why not of the others", () => listed(at));
  await t.test("C-1, C-2, C-3, C-5: the service answers each caller as his token may", () =>
    servedForReal(t, at),
  );
  await t.test("C-13: a machine is managed, compared, and let go without a trace", async () => {
    await managed(at);
    assert.deepEqual(await dumps(at), before);
  });
  await t.test("C-8: a death at each call is rolled back", async () => {
    await killed(at, before);
  });
  await t.test("a record that Ironic makes in vain is deleted, and nothing stays", async (own) => {
    await endsInError(own, at);
    assert.equal(await dumps(at), before);
    await listedAgain(at);
  });
  await t.test("two commands at once make one record", () => twoAtOnce(at));
  assert.deepEqual(await dumps(at), before);
  await t.test(
    "a switchover is asked for with the caller's own token, and done by the service's login",
    () => switchedForReal(at),
  );
  assert.deepEqual(at.sim.commands(), [], "no BMC was told anything");
  assert.doesNotMatch(readFileSync(at.neutron.log, "utf8"), /binding of/);
});

async function scene(t: TestContext): Promise<RealScene> {
  const tools = needsTools("ipmi_sim", "ipmitool");
  const server = await needs("mysql");
  const cloud = await withCloud(t, ["keystone", "glance"]);
  const bmcs = Array.from({ length: MACHINES }, () => ({ power: true, password: PASSWORD }));
  const sim = await startIpmiSim(tools.ipmi_sim, bmcs);
  t.after(sim.stop);
  const folder = privateFolder(t);
  const mechanism = {
    ...{ module: "machine_ports", class: "MachinePorts" },
    text: readFileSync(join(packageRoot(), "grenade", "legacy", "machine_ports.py"), "utf8"),
  };
  const place = { server, cloud, mechanism, port: await freePort() };
  // One that is locked is said to be so at once.
  const conductor = { node_locked_retry_attempts: 1 };
  const more = { keystone_authtoken: cloud.authtoken, conductor };
  const asked = { auth: "keystone", token: cloud.token, more } as const;
  const ironic = await withIronic(t, "mysql", asked);
  const neutron = await startNeutron(place);
  t.after(neutron.stop);
  const at = { cloud, ironic, neutron, sim, folder };
  const env = { ...cloud.env, OS_NETWORK_ENDPOINT_OVERRIDE: neutron.url };
  const [vifs, image] = [await ports(at), await imageIn(cloud)];
  await enrol(at, vifs, image);
  const { tokens } = await realUsers(cloud);
  return { ...at, env, vifs, image, tokens };
}

type Body = { readonly [field: string]: unknown };

function networkApi({ cloud, neutron }: Pick<RealScene, "cloud" | "neutron">) {
  return async (method: string, path: string, body?: unknown): Promise<Body> => {
    const answer = await fetch(`${neutron.url}/v2.0${path}`, {
      method,
      headers: { "X-Auth-Token": cloud.token, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
    return (await answer.json()) as Body;
  };
}

async function ports(at: Pick<RealScene, "cloud" | "neutron">): Promise<readonly string[]> {
  const api = networkApi(at);
  const flat = { "provider:network_type": "flat", "provider:physical_network": "one" };
  const made = await api("POST", "/networks", { network: { name: "tenants", ...flat } });
  const network_id = idIn(made.network);
  const found: string[] = [];
  for (let one = 1; one <= MACHINES; one += 1) {
    const port = { network_id, mac_address: macOf(one), "binding:vnic_type": "baremetal" };
    found.push(idIn((await api("POST", "/ports", { port })).port));
  }
  return found;
}

async function imageIn({ api }: Cloud): Promise<string> {
  const told = { name: "debian", disk_format: "raw", container_format: "bare" };
  const made = await api("image", "POST", "/images", told);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const id = idIn(made.body);
  assert.equal((await api("image", "PUT", `/images/${id}/file`, "bytes of an image")).status, 204);
  return id;
}

function idIn(thing: unknown): string {
  return (thing as { readonly id: string }).id;
}

/** Six machines as operators adopted them, of which the first and the last can be managed. */
async function enrol(
  { ironic, sim }: Pick<RealScene, "ironic" | "sim">,
  vifs: readonly string[],
  image: string,
): Promise<void> {
  const { tell } = telling(ironic);
  const login = { ipmi_username: "admin", ipmi_password: PASSWORD };
  for (let one = 1; one <= MACHINES; one += 1) {
    const uuid = uuidOf(1, one);
    await tell("POST", "/v1/nodes", {
      ...{ uuid, name: `n-${one}`, driver: "ipmi", resource_class: one === 3 ? null : "gold" },
      driver_info: { ipmi_address: sim.addresses[one - 1], ...login },
      instance_info: { image_source: one === 1 ? image : "debian", traits: ["CUSTOM_A"] },
      extra: { rack: one },
    });
    const vif = { extra: { vif_port_id: vifs[one - 1] } };
    const bond = { node_uuid: uuid, name: `b-${one}`, address: macOf(one), ...vif };
    if (one === MACHINES) await tell("POST", "/v1/portgroups", bond);
    const card = { node_uuid: uuid, address: macOf(one === MACHINES ? 60 : one) };
    await tell("POST", "/v1/ports", { ...card, ...(one !== MACHINES && vif) });
  }
  const db = connect({ ...(await needs("mysql")), database: ironic.database });
  // What adoption ends in; adoption itself is no matter of this test.
  const running = { provision_state: "active", power_state: "power on" };
  await db("nodes").update(running);
  await update(db, 2, { instance_uuid: uuidOf(9, 2) });
  await update(db, 4, { provision_state: "available" });
  await update(db, 5, { maintenance: true, maintenance_reason: "a fan" });
  await db.destroy();
  // A conductor asks each BMC whose it is, once it looks at its power.
  await until("a conductor looks at each machine", async () => {
    const { nodes } = await tell("GET", "/v1/nodes?fields=properties&maintenance=false");
    const all = nodes as readonly { readonly properties: object }[]; // the API's own form
    const left = all.filter(({ properties }) => !("vendor" in properties)).length;
    return left === 0 ? null : `${left} are left`;
  });
}

/** Everything that a record touches, as the services tell it; without their own counts and clocks. */
async function dumps(at: RealScene): Promise<string> {
  const api = apiOf(at.ironic);
  const own = networkApi(at);
  const all = [
    (await api("GET", "/v1/nodes?detail=true")).body,
    (await api("GET", "/v1/ports?detail=true")).body,
    (await api("GET", "/v1/portgroups/detail")).body,
    (await api("GET", "/v1/allocations")).body,
    await own("GET", "/ports"),
  ];
  // Conductors look at machines meanwhile, and take them over.
  const looks = ["power_state", "reservation", "last_error", "driver_internal_info"];
  const seen = new Set(["updated_at", "revision_number", ...looks]);
  return JSON.stringify(all, (key, value: unknown) => (seen.has(key) ? 0 : value), 1);
}

function rows(out: string): readonly Body[] {
  return JSON.parse(out) as readonly Body[];
}

const place = ({ ironic }: RealScene): readonly string[] => ["--ironic-url", ironic.url];

async function listed(at: RealScene): Promise<void> {
  const words = ["node", "list", "--adoptable", ...place(at), "-f", "json"];
  const { out } = await runs(0, words, { env: at.env });
  assert.deepEqual(
    rows(out).map((row) => [row.Name, row.Ports]),
    [
      ["n-1", `${macOf(1)} ${at.vifs[0]}`],
      ["n-6", `${macOf(60)}, ${macOf(6)} ${at.vifs[5]}`],
    ],
  );
  const all = await runs(0, [...words, "--all"], { env: at.env });
  assert.deepEqual(
    rows(all.out).map((row) => row["Why not"]),
    [
      "",
      `it already has instance ${uuidOf(9, 2)}`,
      "it has no resource class",
      "it is available, not active",
      "it is in maintenance: a fan",
      "",
    ],
  );
  // Its own database says the same.
  const env = { ...at.env, IRONIC_ROWS: (await needs("mysql")).url(at.ironic.database) };
  const rowsWords = ["node", "list", "--adoptable", "--ironic-db", "env:IRONIC_ROWS", "-f", "json"];
  const read = await runs(0, [...rowsWords, "--all"], { env });
  assert.deepEqual(rows(read.out), rows(all.out));
}

async function managed(at: RealScene): Promise<void> {
  const words = ["--run", join(at.folder, "one"), ...place(at)];
  const asked = ["node", "manage", "n-1", "web-1", ...words, "-f", "json"];
  const made = await runs(0, asked, { env: at.env });
  const server = String(rows(made.out)[0]?.Server);
  const node = (await apiOf(at.ironic)("GET", `/v1/nodes/${uuidOf(1, 1)}`)).body as Body;
  const own = { instance_uuid: server, allocation_uuid: server, provision_state: "active" };
  assert.deepEqual({ ...node, ...own, maintenance: false, extra: { rack: 1 } }, node);
  assert.deepEqual((node.instance_info as Body).traits, ["CUSTOM_A"]);
  const { port } = await networkApi(at)("GET", `/ports/${at.vifs[0]}`);
  assert.equal((port as Body).device_id, server);
  const verified = await runs(0, ["verify", ...words], { env: at.env });
  assert.match(verified.err, /Verify: 3 rows validated, 0 mismatched/);
  await runs(0, ["node", "unmanage", "web-1", ...words, "--yes"], { env: at.env });
}

/** Once a call that changes something: mark, port, allocation, the mark taken off; two machines at a time. */
const CALLS = [
  [1, 2],
  [3, 4],
];

async function killed(at: RealScene, before: string): Promise<void> {
  for (const pair of CALLS) {
    const words = (call: number) => ["--run", join(at.folder, `killed-${call}`), ...place(at)];
    await Promise.all(
      pair.map(async (call, index) => {
        const env = { ...at.env, NOVA2IRONIC_FAILPOINT: `rest.after:${call}:kill` };
        const name = index === 0 ? "n-6" : "n-1";
        const asked = ["node", "manage", name, `web-${call}`, ...words(call)];
        const ran = await start(asked, { env }).ended;
        assert.equal(ran.status, 128, ran.err);
        const node = await apiOf(at.ironic)("GET", `/v1/nodes/${name}`);
        const { extra, instance_uuid } = node.body as Body;
        const begun = JSON.stringify([extra, instance_uuid]);
        assert.match(begun, call === 4 ? /,"[0-9a-f-]{36}"\]$/ : /nova2ironic_manage/);
      }),
    );
    await Promise.all(
      pair.map(async (call) => {
        const back = ["rollback", ...words(call), "--all", "--yes"];
        // One way back dies too.
        const env = { ...at.env, NOVA2IRONIC_FAILPOINT: "rest.after:1:kill" };
        if (call === 4) assert.equal((await start(back, { env }).ended).status, 128);
        const undone = await start(back, { env: at.env }).ended;
        assert.equal(undone.status, 0, undone.err + undone.out);
      }),
    );
    assert.equal(await dumps(at), before, `killed after calls ${pair.join(", ")}`);
    await listedAgain(at);
  }
}

async function twoAtOnce(at: RealScene): Promise<void> {
  const words = (who: string) => ["--run", join(at.folder, who), ...place(at)];
  const asked = (who: string) => ["node", "manage", "n-1", who, ...words(who)];
  const both = await Promise.all(["a", "b"].map((who) => start(asked(who), { env: at.env }).ended));
  const statuses = both.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [0, 4], both.map(({ err }) => err).join("\n"));
  const { body } = await apiOf(at.ironic)("GET", "/v1/allocations");
  assert.equal((body as { readonly allocations: readonly unknown[] }).allocations.length, 1);
  const winner = both[0]?.status === 0 ? "a" : "b";
  await runs(0, ["rollback", ...words(winner), "--all", "--yes"], { env: at.env });
  await listedAgain(at);
}

async function listedAgain(at: RealScene): Promise<void> {
  const words = ["node", "list", "--adoptable", ...place(at), "-f", "value", "-c", "Name"];
  assert.equal((await runs(0, words, { env: at.env })).out, "n-1\nn-6\n");
}
