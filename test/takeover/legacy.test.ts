import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { acquireLock } from "../../src/takeover/leases/locks.ts";
import { extendSchema } from "../../src/takeover/leases/schema.ts";
import { ends, runs } from "../hostile/cli.ts";
import { deploy } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { engines, test } from "../lab/engines.ts";
import { addressFile } from "../lab/index.ts";
import { changes, rowsOf } from "../migrate/nova/rows.ts";
import { AHEAD, ago, MOVE, serviceOf, uuidOf } from "./cloud.ts";
import { opened } from "./leases/place.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { bootFile, IMAGES, KEY, linkOf, PLAN, rootOf, THERE, trees } from "./legacy-trees.ts";

/** What changed in all tables, in any order of columns, but for what living hosts report. */
function written(...rows: Parameters<typeof changes>): readonly string[] {
  const written = Object.entries(changes(...rows));
  const found = written.map(([what, count]) => `${count} ${what.split(" ").sort().join(" ")}`);
  return found.filter((line) => !line.endsWith(" services updated_at")).sort();
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, machines of a dead host go to this one with what boots them, and come back`, async (t) => {
    const cloud = await legacyCloud(t, { engine });
    const { host, rows, dump } = cloud;
    const { own, words } = trees(cloud);
    const second = { id: 900, bm_node_id: 1, address: "52:54:00:00:00:AA", deleted: false };
    await cloud.bm("bm_interfaces").insert(second);
    const before = await dump();
    const whole = () => Promise.all([rowsOf(cloud.made.bm), rowsOf(cloud.made.nova)]);
    const [bm, nova] = await whole();
    const planned = await ends(0, host(...PLAN, ...words));
    assert.match(planned.out, /Plan: 4 of 4 machines to move \(4 compute nodes, 2 instances\)/);
    assert.equal(await dump(), before, "a plan writes nothing");
    assert.match((await host("status")).err, /^Next: nova2ironic host move/m);
    await ends(2, host("verify", "--queue-purged"));
    const moved = await ends(0, host(...MOVE));
    assert.match(moved.out, /Host move: 4 machines moved, 0 already done/);
    const ports = moved.out.match(/^openstack port set --host B .*value=MY_IP_OF_B c0.*-0+[13]$/gm);
    assert.equal(ports?.length, 2, moved.out);
    assert.deepEqual((await rows()).machines.slice(0, 4), THERE);
    const [bmNow, novaNow] = await whole();
    const bmChanges = ["4 bm_nodes service_epoch service_host", "8 bm_locks new"];
    assert.deepEqual(written(bm, bmNow), bmChanges);
    assert.deepEqual(written(nova, novaNow), ["2 host instances", "4 compute_nodes service_id"]);
    for (const id of [1, 3]) {
      const at = join(own, uuidOf("instance", id));
      assert.equal(readFileSync(join(at, "config"), "latin1"), bootFile(id, own));
      for (const image of IMAGES)
        assert.equal(readFileSync(join(at, image), "utf8"), `${image} of ${id}\n`);
      assert.equal(readlinkSync(join(own, linkOf(id))), join(at, "config"));
    }
    const links = readdirSync(join(own, "pxelinux.cfg")).map((name) => name.slice(-2));
    assert.deepEqual(links.toSorted(), ["01", "03", "aa"], "one of each MAC, in lower case");
    await ends(0, host("verify", "--queue-purged"));
    assert.match((await host(...MOVE)).out, /0 machines moved, 4 already done/);
    const shown = await host("rollback", "--all", "--plan");
    assert.match(shown.out, /would return 4 machines and leave 0/, shown.err);
    await ends(0, host("rollback", "--all", "--yes"));
    assert.equal(await dump(), before);
    assert.deepEqual(readdirSync(own), ["pxelinux.0"]);
    assert.equal(readFileSync(join(own, "pxelinux.0"), "utf8"), "loader\n");
    assert.match((await host("status")).err, /rolled back/);
  });

test("a lost boot file is written again from a known root, never a guessed one", async (t) => {
  const cloud = await legacyCloud(t, { machines: 3 });
  const { host, bm } = cloud;
  const { own, old, words } = trees(cloud);
  for (const id of [1, 3]) rmSync(join(old, uuidOf("instance", id), "config"));
  await bm("bm_nodes").update({ deploy_key: KEY });
  const unknown = await host(...PLAN, ...words, "-f", "json");
  assert.match(unknown.out, /N2I-D288/);
  await ends(3, host(...MOVE));
  assert.match((await cloud.rows()).machines.join("\n"), /^1 A 0 active - \| A - 0\n2 B 1/);
  const record = { root_uuid: rootOf(3), kernel_id: null, ramdisk_id: null, seen_ms: 1 };
  const instance_uuid = uuidOf("instance", 3);
  await bm("bm_boot_records").insert({ ...record, instance_uuid, host: "A" });
  const roots = ["--root-uuid", `${uuidOf("node", 1)}=${rootOf(1)}`];
  const run = ["--run", join(cloud.folder, "runs", "h2")];
  const planned = await host(...PLAN, ...words, ...roots, ...run);
  assert.match(planned.out, /2 of 2 machines to move/, planned.err);
  await ends(0, host(...MOVE, ...run));
  for (const id of [1, 3]) {
    const config = join(own, uuidOf("instance", id), "config");
    assert.equal(readFileSync(config, "latin1"), bootFile(id, own));
  }
});

/** Machines in a deploy, or after one that failed, by their numbers. */
const DEPLOYS = { 2: "deploying", 4: "building", 6: "prepared", 8: "deploy failed" };

test("a machine that cannot move is reported and unchanged, and the others move", async (t) => {
  const cloud = await legacyCloud(t, { machines: 15 });
  const { host, bm, nova } = cloud;
  const { own, words } = trees(cloud, [1, 3, 5, 7, 9, 11, 13, 15]);
  const node = (id: number, row: object) => bm("bm_nodes").where({ id }).update(row);
  const instance = (id: number, row: object) => nova("instances").where({ id }).update(row);
  for (const [id, task_state] of Object.entries(DEPLOYS)) await node(Number(id), { task_state });
  await instance(15, { vm_state: "building" });
  await instance(1, { task_state: "powering-off" });
  await nova("block_device_mapping").insert({
    ...{ id: 1, instance_uuid: uuidOf("instance", 3), volume_id: uuidOf("node", 77), deleted: 0 },
  });
  await instance(5, { architecture: "tilepro64" });
  await instance(7, { deleted: 7 });
  await node(9, { instance_uuid: uuidOf("instance", 99) });
  await instance(11, { host: "C" });
  const before = await cloud.rows();
  const planned = await host(...PLAN, ...words, "-f", "json");
  const lines: readonly { readonly [column: string]: string | null }[] = JSON.parse(planned.out);
  const found = (id: number | string): string => {
    const row = lines.find(({ Machine }) => Number(Machine?.slice(-12)) === Number(id));
    return `${row?.Findings ?? ""} ${row?.Why ?? ""}`;
  };
  for (const [id, task_state] of Object.entries(DEPLOYS))
    assert.match(found(id), new RegExp(`N2I-D280 task_state is .?${task_state}`));
  const codes = { 1: 260, 3: 284, 5: 286, 7: 283, 9: 283, 11: 268, 15: 260 };
  for (const [id, code] of Object.entries(codes))
    assert.match(found(id), new RegExp(`N2I-D${code}`), id);
  assert.equal(found(13), " ");
  await ends(3, host(...MOVE));
  const { machines } = await cloud.rows();
  const stayed = (row: string): boolean => !/^(10|12|13|14) /.test(row);
  const went = machines.filter((row) => /^\d+ B 1/.test(row));
  assert.deepEqual([went.length, went.filter(stayed)], [4, []]);
  assert.deepEqual(machines.filter(stayed), before.machines.filter(stayed));
  const held = readdirSync(own).filter((name) => name.startsWith("b0"));
  assert.deepEqual(held, [uuidOf("instance", 13)], "no file of theirs is made");
});

test("hosts that report, serve nova-network or differ in aggregates are refused", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { host, nova } = cloud;
  const { words } = trees(cloud, [1]);
  const codes = async (): Promise<string> => (await host(...PLAN, ...words, "-f", "csv")).out;
  await serviceOf(nova, "A").update({ updated_at: ago(-AHEAD) });
  assert.match(await codes(), /N2I-D251/);
  await ends(4, host(...MOVE));
  await nova("services").where({ host: "A" }).update({ updated_at: "2014-06-01 12:00:00" });
  await nova("aggregates").insert({ id: 1, name: "rack", deleted: 0 });
  await nova("aggregate_hosts").insert({ id: 1, host: "A", aggregate_id: 1, deleted: 0 });
  assert.match(await codes(), /N2I-D264/);
  await nova("aggregate_hosts").delete();
  await nova("aggregates").delete();
  await nova.schema.createTable("networks", (table) => {
    table.increments("id");
    table.string("host");
    table.integer("deleted");
  });
  await nova("networks").insert({ host: "A", deleted: 0 });
  assert.match(await codes(), /N2I-D285/);
  await nova("networks").update({ deleted: 1 });
  assert.doesNotMatch(await codes(), /N2I-D2[5-9]\d/);
});

test("port commands are printed for moved machines alone, quoted for a shell", async (t) => {
  const cloud = await legacyCloud(t, { machines: 3 });
  const { host, nova, bm } = cloud;
  const { words } = trees(cloud);
  await bm("bm_service_leases").insert({
    ...{ host: "B", epoch: 1, heartbeat_ms: 1, ttl_ms: 1, my_ip: "10.0.0.9; reboot" },
  });
  await ends(0, host(...PLAN, ...words));
  await nova("instances").where({ id: 3 }).update({ task_state: "powering-off" });
  const moved = await ends(3, host(...MOVE));
  const ports = moved.out.match(/^openstack port set .*$/gm) ?? [];
  assert.equal(ports.length, 1, moved.out);
  assert.match(ports[0] ?? "", /'name=tftp-server,value=10\.0\.0\.9; reboot' c0.*-0+1$/);
  await nova("instances").where({ id: 3 }).update({ task_state: null });
  const all = await host(...MOVE);
  assert.equal(all.out.match(/^openstack port set /gm)?.length, 2, all.out);
});

test("verify reports an instance that was deleted while its machine was moved", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { host, nova } = cloud;
  const { words } = trees(cloud, [1]);
  await ends(0, host(...PLAN, ...words));
  await ends(0, host(...MOVE));
  await nova("instances").where({ id: 1 }).update({ deleted: 1 });
  const verified = await ends(2, host("verify", "--queue-purged"));
  assert.match(
    verified.out,
    /orphaned: bm_nodes refers to b0+-0000-4000-8000-0+1, which is deleted/,
  );
});

for (const engine of engines("sqlite", "mysql"))
  test(`A-18: on ${engine}, a list names each machine's owner, epoch, age, lock and its end, and state`, async (t) => {
    const { bm, nova, folder } = await deploy(engine, t, SMALL);
    const at = [
      ...["--nova-db", addressFile(folder, "n", nova.url)],
      ...["--nova-bm-db", addressFile(folder, "b", bm.url)],
    ];
    const service = { binary: "nova-compute", topic: "compute", deleted: 0, disabled: false };
    await nova.db("services").insert([
      { ...service, id: 71, host: "A", report_count: 1, updated_at: ago(600) },
      { ...service, id: 72, host: "B", report_count: 1, updated_at: ago(-AHEAD) },
    ]);
    await bm.db("bm_nodes").where({ id: 1 }).update({ service_host: "A" });
    await bm.db("bm_nodes").where({ id: 2 }).update({ service_host: "B" });
    const listed = async () =>
      JSON.parse((await runs(0, ["host", "list", ...at, "-f", "json"])).out) as {
        readonly [column: string]: string | number | null;
      }[];
    const bare = await listed();
    const about = (row: (typeof bare)[number] = {}) =>
      [row.Owner, row.Up, row.Epoch, row.Lock, row.State, row.Instance].join(" ").trim();
    assert.deepEqual(bare.map(about), [`A down   active ${uuidOf("instance", 1)}`, "B up   idle"]);
    assert.ok(Number(bare[0]?.Age) >= 600, "Nova's word, where there is no other");

    await extendSchema(await opened(bm.url, t));
    const lockDatabase = await opened(bm.url, t, true);
    const lease = { epoch: 2, ttl_ms: 60_000, heartbeat_ms: Date.now() - 90_000 };
    await bm.db("bm_service_leases").insert({ ...lease, host: "A", fenced_by: "B" });
    await bm.db("bm_nodes").update({ service_epoch: 3, service_heartbeat_ms: Date.now() - 90_000 });
    const locked = `node:${uuidOf("node", 2)}`;
    assert.ok(await acquireLock(lockDatabase, locked, { owner: "C", ttl: 3_600_000 }));
    const rows = await listed();
    assert.equal(about(rows[0]), `A down 3 fenced by B active ${uuidOf("instance", 1)}`);
    assert.match(about(rows[1]), /^B up 3 C, \d+ s idle$/);
    await bm.db("bm_locks").update({ expires_ms: Date.now() - 5000 });
    assert.match(about((await listed())[1]), /^B up 3 C, expired \d+ s ago idle$/);
    for (const { Age } of rows) assert.ok(Number(Age) >= 89 && Number(Age) < 3600, String(Age));
    const machines = rows.map(({ Machine }) => Machine);
    assert.deepEqual(machines, [uuidOf("node", 1), uuidOf("node", 2)]);
  });
