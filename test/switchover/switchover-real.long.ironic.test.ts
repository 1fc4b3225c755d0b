import assert from "node:assert/strict";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../../grenade/lib/wait.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { startIpmiSim } from "../lab/bmc/sims.ts";
import { needsTools } from "../lab/bmc/tools.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { telling } from "../lab/ironic/telling.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { macOf, uuidOf } from "../manage/in-memory.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import { asking, errorOf, started } from "./switch-served.ts";

const PASSWORD = "of-the-lab";
const CANARY = "chap-canary-7d21";
/** By place in the farm: the first can be made silent. */
const [DYING, SERVING, SPARE, OTHER] = [0, 1, 2, 3] as const;
/** A spare is like one source: SPARE like SERVING, OTHER like DYING. */
const SOURCES = [SERVING, DYING];
const ALL = [...SOURCES, SPARE, OTHER];
const classOf = (one: number): string => `class-${one === DYING || one === OTHER ? 1 : 0}`;

test("instances of a real Ironic go on on spares, also where a BMC is dead", {
  concurrency: true,
}, async (t) => {
  const at = await scene(t);
  for (const one of SOURCES) assert.deepEqual(bootFiles(at, one), [uuidOf(1, one)]);
  const before = at.sim.commands().length;
  // Pairs that have nothing to do with each other.
  await Promise.all([
    t.test("B-17, B-1, B-11: one goes on by PUT", (one) => switched(one, at)),
    t.test("a dead BMC moves nothing until somebody saw the machine off", () => dead(at)),
  ]);
  await t.test(
    "B-17: a soft off, a boot device, a power on, nothing for any other machine; one boots from a volume alone",
    () => {
      const heard = at.sim.commands().slice(before);
      const of = (one: number) =>
        heard
          .filter((line) => line.startsWith(`${one} `))
          .map((line) => /(shutdown|boot pxe|power [01])/.exec(line)?.[0] ?? line);
      assert.deepEqual(of(SERVING), ["shutdown"]);
      assert.deepEqual(of(SPARE), ["boot pxe", "power 1"]);
      assert.deepEqual(of(OTHER), ["boot pxe", "power 1"]);
      assert.deepEqual(of(DYING), []);
      assert.equal(heard.length, 5, heard.join());
      assert.deepEqual(bootFiles(at, SERVING), [uuidOf(1, SPARE)]);
      assert.deepEqual(bootFiles(at, DYING), [uuidOf(1, OTHER)]);
      assert.deepEqual(filesWith(at.folder, CANARY), []);
    },
  );
});

async function scene(t: TestContext) {
  const tools = needsTools("ipmi_sim", "ipmitool");
  const server = await needs("mysql");
  const bmcs = ALL.map(() => ({ power: false, password: PASSWORD }));
  const sim = await startIpmiSim(tools.ipmi_sim, bmcs, { firstApart: true });
  t.after(sim.stop);
  const ironic = await withIronic(t, "mysql", { more: QUICK });
  const db = connect({ ...server, database: ironic.database });
  t.after(() => db.destroy());
  const at = { ironic, sim, db, folder: privateFolder(t) };
  for (const one of ALL) await enrolled(at, one);
  await Promise.all(SOURCES.map((one) => deployed(at, one)));
  return at;
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** Seconds that Ironic waits for a BMC, and looks at one that switches. */
const QUICK = {
  ipmi: { command_retry_timeout: 4, min_command_interval: 1 },
  conductor: { sync_power_state_interval: 3 },
} as const;

type Body = { readonly [field: string]: unknown };

const node = (at: Scene, one: number) => telling(at.ironic).becomes(uuidOf(1, one), {});

async function enrolled(at: Scene, one: number): Promise<void> {
  const { tell } = telling(at.ironic);
  await tell("POST", "/v1/nodes", {
    ...{ uuid: uuidOf(1, one), name: `n-${one}`, driver: "ipmi" },
    resource_class: classOf(one),
    ...{ boot_interface: "ipxe", deploy_interface: "direct", storage_interface: "external" },
    properties: { cpus: 4, memory_mb: 8192, capabilities: "iscsi_boot:True" },
    driver_info: {
      ipmi_address: at.sim.addresses[one],
      ipmi_username: "admin",
      ipmi_password: PASSWORD,
      // Asked for by validation; nobody fetches them where no image is written.
      deploy_kernel: "http://127.0.0.1:9/kernel",
      deploy_ramdisk: "http://127.0.0.1:9/ramdisk",
    },
    ...(SOURCES.some((source) => source === one) && { description: "a shop" }),
  });
  await tell("POST", "/v1/ports", { node_uuid: uuidOf(1, one), address: macOf(one + 1) });
}

async function deployed(at: Scene, one: number): Promise<void> {
  const uuid = uuidOf(1, one);
  const { tell, goes, becomes } = telling(at.ironic);
  await goes(uuid, "manage", "manageable");
  await becomes(uuid, { power_state: "power off", reservation: null });
  const path = `/v1/nodes/${uuid}`;
  await tell("PATCH", path, [{ op: "add", path: "/automated_clean", value: false }]);
  const iqn = { type: "iqn", connector_id: `iqn.2026-01.org.example:n-${one}` };
  await tell("POST", "/v1/volume/connectors", { uuid: uuidOf(6, one), node_uuid: uuid, ...iqn });
  await tell("POST", "/v1/volume/targets", {
    ...{ uuid: uuidOf(5, one), node_uuid: uuid, volume_type: "iscsi", boot_index: 0 },
    volume_id: uuidOf(4, one),
    properties: {
      ...{ target_iqn: `iqn.2026-01.org.example:v-${one}`, target_portal: "127.0.0.1:3260" },
      ...{ target_lun: 1, auth_method: "CHAP", auth_username: "u", auth_password: CANARY },
    },
  });
  await goes(uuid, "provide", "available");
  await goes(uuid, "active", "active");
  await becomes(uuid, { power_state: "power on", reservation: null });
  await tell("PATCH", path, [{ op: "add", path: "/automated_clean", value: null }]);
  const record = { uuid: uuidOf(9, one), name: `web-${one}`, node: uuid };
  await tell("POST", "/v1/allocations", { ...record, resource_class: classOf(one) });
}

const words = (at: Scene, folder: string): readonly string[] => [
  ...["--run", join(at.folder, folder), "--ironic-url", at.ironic.url, "--proof-interval", "1"],
];

/** Files under a folder in which a text stands. */
function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    // A link by each MAC leads to the node's own.
    const is = lstatSync(path);
    if (is.isSymbolicLink()) return [];
    if (is.isDirectory()) return filesWith(path, text);
    return readFileSync(path, "utf8").includes(text) ? [path] : [];
  });
}

function bootFiles({ ironic: { tftp } }: Scene, one: number): readonly string[] {
  const folders = [tftp, join(dirname(tftp), "http")];
  const found = folders.flatMap((folder) => filesWith(folder, `v-${one}`));
  return [...new Set(found.map((path) => /[0-9a-f-]{36}/.exec(path)?.[0] ?? path))];
}

async function owner(at: Scene, one: number): Promise<unknown> {
  return (await telling(at.ironic).tell("GET", `/v1/volume/targets/${uuidOf(5, one)}`)).node_uuid;
}

async function switched(t: TestContext, at: Scene): Promise<void> {
  const secrets = () => at.db("volume_targets").select("uuid", "properties").orderBy("uuid");
  const kept = JSON.stringify(await secrets());
  assert.match(kept, new RegExp(CANARY));
  const dry = await runs(0, ["node", "switchover", "n-1", ...words(at, "dry"), "--dry-run"]);
  assert.match(dry.out, /SRC_OFF/);
  assert.equal(existsSync(join(at.folder, "dry")), false);
  const { id, log } = await asked(t, at);
  assert.equal(JSON.stringify(await secrets()), kept, "byte for byte");
  const { provision_state, maintenance, power_state, instance_uuid, extra } = await node(
    at,
    SERVING,
  );
  const source = [provision_state, maintenance, power_state, instance_uuid, extra];
  assert.deepEqual(source, ["available", true, "power off", null, {}]);
  const spare = await node(at, SPARE);
  assert.deepEqual([spare.provision_state, spare.power_state], ["active", "power on"]);
  assert.deepEqual([spare.name, spare.description], ["n-1", "a shop"]);
  for (const uuid of [spare.instance_uuid, spare.allocation_uuid])
    assert.equal(uuid, uuidOf(9, SERVING));
  const own = join("one", id);
  const verified = await runs(0, ["verify", ...words(at, own).slice(0, 4)]);
  const status = await runs(0, ["status", ...words(at, own).slice(0, 2)]);
  assert.match(status.out, /DONE/);
  const shown = await runs(0, ["show", join(at.folder, own, "journal.jsonl")]);
  const said = [dry, verified, status, shown].map(({ out, err }) => out + err).join("");
  assert.doesNotMatch(said + log, new RegExp(CANARY));
}

/** One switchover over HTTP, and whatever was answered and said of it. */
async function asked(t: TestContext, at: Scene) {
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] });
  const log: string[] = [];
  const state = join(at.folder, "one");
  const { url, end } = await started({}, log, {
    ...{ state, ironicUrl: at.ironic.url, keystoneUrl: keystone.url, proofInterval: 1 },
  });
  await notAcceptable(at, url);
  const both = await Promise.all(
    ["n-1", uuidOf(1, SERVING)].map((one) => asking(url, one, { target_node: "n-2" }, {})),
  );
  const [put = assert.fail(), other] = both.toSorted((one, two) => one.status - two.status);
  assert.deepEqual([put.status, put.text, other?.status], [202, "", 409], "two at once");
  const location = put.fields.get("location") ?? "";
  let id = "";
  await until("the switchover is DONE", async () => {
    const { text } = await asking(url, location, undefined, { method: "GET" });
    log.push(text);
    const { switchover } = JSON.parse(text) as { readonly switchover: Body };
    id = String(switchover.id);
    assert.equal(switchover.error, null, text);
    return switchover.state === "DONE" ? null : text;
  });
  await end();
  return { id, log: log.join("\n") };
}

/** B-6: what is no microversion of Ironic is refused as that Ironic refuses it. */
async function notAcceptable({ ironic }: Scene, url: string): Promise<void> {
  for (const version of ["1.999", "2.1", "abc", "1"]) {
    const path = `/v1/nodes/n-1`;
    const [own, theirs] = await Promise.all([
      asking(url, `${path}/switchover`, undefined, { version }),
      asking(ironic.url, path, undefined, { version, method: "GET", token: null }),
    ]);
    assert.deepEqual([own.status, theirs.status], [406, 406], version);
    assert.deepEqual(errorOf(own), errorOf(theirs), version);
    for (const end of ["minimum", "maximum"]) {
      const name = `x-openstack-ironic-api-${end}-version`;
      // Ironic tells none of what it could not read.
      const told = theirs.fields.get(name) ?? (end === "minimum" ? "1.1" : "1.82");
      assert.equal(own.fields.get(name), told);
    }
  }
  assert.equal((await asking(url, "n-1", {}, { version: null })).status, 406);
}

async function dead(at: Scene): Promise<void> {
  at.sim.silence(true);
  const own = [...words(at, "dead"), "--proof-timeout", "1"];
  const waits = await runs(5, ["node", "switchover", "n-0", "n-3", ...own]);
  assert.match(waits.err, /N2I-E388[\s\S]*WAIT_FENCE/);
  assert.equal(await owner(at, DYING), uuidOf(1, DYING));
  assert.equal((await node(at, DYING)).instance_uuid, uuidOf(9, DYING));
  await runs(0, ["node", "switchover", "n-0", ...own, "--source-confirmed-off"]);
  assert.equal(await owner(at, DYING), uuidOf(1, OTHER));
  const [source, spare] = [await node(at, DYING), await node(at, OTHER)];
  assert.deepEqual([source.maintenance, source.instance_uuid], [true, null]);
  assert.deepEqual([spare.provision_state, spare.power_state], ["active", "power on"]);
  at.sim.silence(false);
}
