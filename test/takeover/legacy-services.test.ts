import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { processContext, surrounded } from "../../src/run/process-context.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { ends, killedAt, runs } from "../hostile/cli.ts";
import { type InMemory, inMemory } from "../manage/in-memory.ts";
import { DENIED, DOWN } from "../manage/scene.ts";
import { BRIEF, MOVE, QUICK, uuidOf } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { takes } from "./legacy-does.ts";
import { IMAGES, PLAN, rootOf } from "./legacy-trees.ts";

const ROOT = rootOf(1);
const INSTANCE = uuidOf("instance", 1);
/** What the agent of A published of it. */
const RECORD = {
  ...{ instance_uuid: INSTANCE, host: "A", root_uuid: ROOT, seen_ms: 1 },
  ...{ kernel_id: "kernel", ramdisk_id: "ramdisk" },
};

const OPTIONS = { "bootfile-name": "pxelinux.0", "server-ip-address": "10.0.0.1", mtu: "9000" };

/** One machine of A whose port is in Neutron and whose images are in Glance, and a login to both. */
async function site(t: TestContext, down = QUICK) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const services = await inMemory(t, 82, (held, call) => {
    const [, id = ""] = /^GET \/v2\/images\/([^/]+)\/file$/.exec(call) ?? [];
    const image = held.images.get(id);
    return image === undefined ? null : { status: 200, text: String(image.bytes) };
  });
  const env = { ...services.login, ...services.how.env };
  const cloud = await legacyCloud(t, { machines: 1, env });
  const [own, old] = [join(cloud.folder, "own"), join(cloud.folder, "old")];
  for (const at of [own, join(old, INSTANCE)]) mkdirSync(at, { recursive: true });
  await cloud.bm("bm_nodes").update({ deploy_key: "KEY" });
  for (const name of IMAGES) imageOf(services, name, `${name} of Glance\n`);
  await cloud.nova("instances").update({ kernel_id: "kernel", ramdisk_id: "ramdisk" });
  const conf = join(cloud.folder, "nova.conf");
  const deploys = "deploy_kernel = deploy_kernel\ndeploy_ramdisk = deploy_ramdisk\n";
  writeFileSync(conf, `[DEFAULT]\nmy_ip = 10.0.0.9\n[baremetal]\n${deploys}`);
  const id = String((await cloud.bm("bm_interfaces").where({ bm_node_id: 1 }).first()).vif_uuid);
  const port = {
    ...{ id, device_id: INSTANCE, device_owner: "compute:None", revision_number: 1 },
    "binding:host_id": "A",
    extra_dhcp_opts: Object.entries(OPTIONS).map(([opt_name, opt_value]) => ({
      ...{ opt_name, opt_value, ip_version: 4 },
    })),
  };
  services.network.set(id, port);
  return {
    ...{ ...cloud, services, env, own, old, conf, port },
    plan: [
      ...[
        ...PLAN.slice(0, -2),
        ...down,
        "--tftp-root",
        own,
        "--tftp-from",
        `A=${old}`,
        "--nova-conf",
        conf,
      ],
      ...["--root-uuid", `${uuidOf("node", 1)}=${ROOT}`],
    ],
  };
}

type Site = Awaited<ReturnType<typeof site>>;

function imageOf({ images }: InMemory, id: string, bytes: string, more: object = {}): void {
  const checksum = createHash("md5").update(bytes).digest("hex");
  images.set(id, { id, status: "active", size: bytes.length, checksum, bytes, ...more });
}

/** Host and options, as Neutron has them. */
function said({ port }: Pick<Site, "port">): readonly string[] {
  const options = port.extra_dhcp_opts.map((one) => `${one.opt_name}=${one.opt_value}`);
  return [port["binding:host_id"], ...options];
}

const HERE = "1 A 0 active - | A - 0";
const THERE = "1 B 1 active - | B - 0";
const NAMES_A = ["A", "bootfile-name=pxelinux.0", "server-ip-address=10.0.0.1", "mtu=9000"];
const NAMES_B = [
  ...["B", "bootfile-name=pxelinux.0", "server-ip-address=10.0.0.9", "mtu=9000"],
  "tftp-server=10.0.0.9",
];

test("with a login, images come from Glance and ports name the new host; a rollback gives the port back as it was", async (t) => {
  const here = await site(t);
  const { host, own, services, rows } = here;
  const planned = await host(...here.plan);
  assert.match(planned.out, /1 of 1 machine to move/, planned.err);
  const moved = await ends(0, host(...MOVE));
  assert.doesNotMatch(moved.out, /openstack port set/);
  for (const name of IMAGES)
    assert.equal(readFileSync(join(own, INSTANCE, name), "utf8"), `${name} of Glance\n`);
  assert.deepEqual(readdirSync(own).toSorted(), [INSTANCE, "pxelinux.cfg"]);
  assert.deepEqual(said(here), NAMES_B);
  assert.equal((await rows()).machines[0], THERE);
  const verify = () => host("verify", "--queue-purged");
  assert.equal((await verify()).status, 0, (await verify()).out);
  here.port["binding:host_id"] = "A";
  const wrong = await ends(2, verify());
  assert.match(wrong.out, /port:c0\S+ .*binding:host_id is A, expected B/);
  here.port["binding:host_id"] = "B";
  await ends(0, host("rollback", "--all", "--yes"));
  assert.deepEqual(said(here), NAMES_A);
  assert.ok(!existsSync(join(own, INSTANCE)));
  assert.equal(services.calls.filter((call) => call.startsWith("PUT")).length, 2);
});

test("what Neutron refuses keeps no machine: it is said, with the command that does it", async (t) => {
  const here = await site(t);
  const { host, services } = here;
  await ends(0, host(...here.plan));
  services.use((call) => (call.startsWith("PUT") ? DENIED : null));
  const moved = await ends(0, host(...MOVE));
  assert.match(moved.err, /Port c0\S+ does not have host B yet: .*not today/);
  assert.match(moved.out, /^openstack port set --host B .*value=10\.0\.0\.9 .*c0/m);
  assert.deepEqual(said(here), NAMES_A);
  assert.equal((await here.rows()).machines[0], THERE);
  services.use(() => null);
  const again = await host(...MOVE);
  assert.match(again.out, /openstack port set/, "it is told until it is so");
  await ends(0, host("rollback", "--all", "--yes"));
});

test("a port that somebody changed since stays, and its machine is listed by the rollback", async (t) => {
  const here = await site(t);
  const { host } = here;
  await ends(0, host(...here.plan));
  await ends(0, host(...MOVE));
  here.port["binding:host_id"] = "C";
  const back = await host("rollback", "--all", "--yes");
  const left = /port c0\S+ of A was not restored: it has changed since/;
  assert.match(back.out + back.err, left);
  assert.equal((await here.rows()).machines[0], "1 A 2 active - | A - 0");
  here.port["binding:host_id"] = "B";
  assert.match((await host("rollback", "--all", "--yes")).out, /1 machine returned, 0 left/);
  assert.equal(here.port["binding:host_id"], "A");
});

test("services that do not answer keep no machine whose tree is whole, and say so", async (t) => {
  const here = await site(t);
  const { host, services, old } = here;
  for (const name of IMAGES) writeFileSync(join(old, INSTANCE, name), `${name} of Glance\n`);
  services.use(() => DOWN);
  const planned = await host(...here.plan);
  assert.match(planned.err, /Warning: Glance is not used/);
  assert.match(planned.out, /1 of 1 machine to move/);
  const moved = await ends(0, host(...MOVE));
  assert.match(moved.err, /Warning: Neutron is not used/);
  assert.match(moved.out, /^openstack port set --host B/m);
});

test("a machine stays whose image is shorter than Glance's, not whole in Glance, or in Glance no more", async (t) => {
  const here = await site(t);
  const { host, old, plan, rows, services } = here;
  const stays = async (says: RegExp): Promise<void> => {
    const planned = await host(...plan, "-f", "json");
    assert.match(planned.out, says, planned.err);
    assert.equal((await rows()).machines[0], HERE);
  };
  writeFileSync(join(old, INSTANCE, "kernel"), "cut");
  await stays(/N2I-D287[\s\S]*kernel has 3 bytes, but Glance's image kernel has 17/);
  rmSync(join(old, INSTANCE, "kernel"));
  imageOf(services, "ramdisk", "x", { status: "queued" });
  await stays(/N2I-D287[\s\S]*its status in Glance is queued \(ramdisk\)/);
  services.images.delete("ramdisk");
  const nowhere = "no specified tree has it, and Glance has no such image \\(ramdisk\\)";
  await stays(new RegExp(`N2I-D287[^]*ramdisk does not exist: ${nowhere}`));
});

test("an image that is not what Glance says of it, or a copy of its size, moves nothing", async (t) => {
  const here = await site(t);
  const { host, services, old, own, rows } = here;
  await ends(0, host(...here.plan));
  Object.assign(services.images.get("kernel") ?? {}, { bytes: "kernel of Nobody\n" });
  const moved = await ends(4, host(...MOVE));
  assert.match(moved.err, /image kernel differs from its record in Glance: its md5 is/);
  writeFileSync(join(old, INSTANCE, "kernel"), "kernel of Nobody\n");
  const copied = await host(...MOVE);
  assert.match(copied.err, /kernel is not its image: its md5 is \w+, and that of Glance's image/);
  assert.equal((await rows()).machines[0], HERE);
  assert.deepEqual(readdirSync(own), []);
  assert.deepEqual(said(here), NAMES_A);
});

test("kernel and ramdisk that Nova lost are those that the agent of the old host published", async (t) => {
  const here = await site(t);
  const { host, bm, nova } = here;
  await nova("instances").update({ kernel_id: "", ramdisk_id: null });
  const planned = () => host(...here.plan, "-f", "json");
  assert.match((await planned()).out, /its Glance image is unknown/);
  await bm("bm_boot_records").insert(RECORD);
  assert.match((await planned()).out, /"Verdict": "move"/);
  await ends(0, host(...MOVE));
  const file = join(here.own, INSTANCE, "kernel");
  assert.equal(readFileSync(file, "utf8"), "kernel of Glance\n");
});

test("an agent with a login takes a machine whose host is lost with its disk: Glance has its images, nova_bm the rest", async (t) => {
  const here = await site(t);
  const { bm, nova, own, conf, env } = here;
  await nova("instances").update({ kernel_id: "", ramdisk_id: null });
  const lease = { epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };
  await bm("bm_service_leases").insert({ ...lease, host: "A", fenced_by: "B" });
  await bm("bm_boot_records").insert(RECORD);
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(text);
  const taking = { ids: [1], tftpRoot: own, novaConf: conf, say };
  const without = await takes(here, "none", "A", "B", taking);
  assert.match(
    without.skipped.map(({ reason: why }) => why).join(),
    /N2I-D287 .*no specified tree has it/,
  );
  const world = { ...processContext(), env: { ...processContext().env, ...env } };
  const taken = await surrounded(world, () => takes(here, "one", "A", "B", taking));
  assert.deepEqual([taken.moved, taken.skipped], [1, []]);
  assert.doesNotMatch(lines.join("\n"), /openstack port set/);
  for (const name of IMAGES)
    assert.equal(readFileSync(join(own, INSTANCE, name), "utf8"), `${name} of Glance\n`);
  assert.deepEqual(readdirSync(own).toSorted(), [INSTANCE, "pxelinux.cfg"]);
  assert.deepEqual(said(here), NAMES_B);
});

test("a move that is killed once its port names the new host goes on by the same words, and its port is given back", async (t) => {
  const here = await site(t, BRIEF);
  const { host, env, places, folder } = here;
  await ends(0, host(...here.plan));
  const own = ["--run", join(folder, "runs", "h1"), ...places];
  await killedAt("legacy.ported:1", [...MOVE, ...own], env);
  await ends(0, host(...MOVE));
  assert.deepEqual(said(here), NAMES_B);
  await ends(0, host("rollback", "--all", "--yes"));
  assert.equal(said(here)[0], "A");
  assert.equal((await here.rows()).machines[0], "1 A 2 active - | A - 0");
});

test("words of the other kind of machines are refused, and what is missing is named", async (t) => {
  const { host, places, folder } = await legacyCloud(t, { machines: 1 });
  const ironic = ["--ironic-url", "http://127.0.0.1:1"];
  const plan = ["host", "plan", "--from", "A", "--to", "B"];
  const { err } = await ends(64, host(...plan, ...ironic));
  assert.match(err, /for machines of nova-baremetal \(--nova-bm-db\) has no option --ironic-url/);
  const own = ["--run", join(folder, "runs", "h2"), ...places.slice(2)];
  const other = await runs(64, [...plan, ...own, "--tftp-root", folder]);
  assert.match(other.err, /without --nova-bm-db.* has no option --tftp-root/);
});
