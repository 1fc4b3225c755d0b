import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ends } from "../hostile/cli.ts";
import { engines, test } from "../lab/engines.ts";
import { AHEAD, ago, serviceOf } from "./cloud.ts";
import { moveOf, reporting } from "./legacy-cloud.ts";
import { asked, DOWN, dead, ROW, words } from "./legacy-trees.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a dead host's machines come by hand under a fenced lease, and go back with it`, async (t) => {
    const cloud = await dead(t, { engine });
    const { bm, host, places, folder } = cloud;
    await bm("bm_service_leases").insert(ROW);
    const before = await cloud.rows();
    const lease = async () => {
      const row = await bm("bm_service_leases").first();
      return [Number(row.epoch), row.fenced_by];
    };
    const ran = await ends(0, host(...words(cloud, 1), ...DOWN));
    assert.match(ran.out, /Host move: 1 host fenced, 2 machines moved, 0 already done\./);
    assert.match(ran.out, /^openstack port set --host B .* c0.*-0+1$/m);
    const { machines } = await cloud.rows();
    assert.deepEqual(machines.slice(0, 2), ["1 B 1 active - | B - 0", "2 B 1 - - |"]);
    const instance = String(moveOf(1).tenant?.uuid);
    assert.match(readFileSync(join(folder, "own", instance, "config"), "utf8"), /boot/);
    const [epoch, by] = await lease();
    assert.equal(epoch, 4);
    assert.match(String(by), /^nova2ironic by hand, [0-9a-f-]{36}$/);
    const status = await host("status");
    assert.match(status.out, /the lease of A is fenced by this run/);
    assert.match(status.err, /^Next: nova2ironic verify /m);
    await ends(0, host("verify", ...places.slice(0, 2), "--queue-purged"));
    const shown = await host("rollback", "--all", "--plan", "-f", "json");
    assert.match(shown.out, /bm_service_leases/);
    const back = await host("rollback", "--all", "--yes");
    assert.match(back.out, /2 machines returned, 0 left, 1 fence lifted/, back.err);
    assert.match(back.err, /^Warning: nova-compute of B reports\. Stop it first/m);
    assert.deepEqual(await lease(), [4, null]);
    const now = (await cloud.rows()).machines.map((line) => line.replace(/ 2 /, " 0 "));
    assert.deepEqual(now, before.machines);
  });

test("a rollback lifts a fence by hand if no machine stayed, and so does readmit", async (t) => {
  const cloud = await dead(t);
  const { bm, host } = cloud;
  await bm("bm_service_leases").insert(ROW);
  await ends(0, host(...words(cloud, 1), ...DOWN));
  await bm("bm_nodes").where({ id: 2 }).update({ service_host: "C", service_epoch: 9 });
  const again = await ends(0, host(...words(cloud, 1), ...DOWN));
  assert.match(again.out, /0 machines moved, 2 already done\.$/m, "wherever they went since");
  const back = await host("rollback", "--all", "--yes");
  assert.match(back.out, /1 machine returned, 1 left\./);
  const fenced = async () => (await bm("bm_service_leases").first()).fenced_by;
  assert.notEqual(await fenced(), null);
  const readmitted = await host("host", "readmit", "A", "--yes", "--queue-purged");
  assert.match(readmitted.out, /A can return to service: start its nova-compute and its agent/);
  assert.equal(await fenced(), null);
  assert.match((await host("status")).out, /none of this run/);
});

test("a host without a lease is taken over by its silence, and comes back", async (t) => {
  const cloud = await dead(t);
  const { host, bm, places } = cloud;
  const ran = await ends(0, host(...words(cloud, 1), ...DOWN));
  assert.match(ran.out, /Host move: 2 machines moved/);
  assert.deepEqual(await bm("bm_service_leases"), []);
  const other = await host(...words(cloud), ...DOWN, "--run", join(cloud.folder, "runs", "h2"));
  assert.match(other.err, /N2I-E306 A has no machine of nova-baremetal\.\n.*host list/s);
  const queue = await host("host", "readmit", "A", "--yes");
  assert.match(queue.err, /N2I-E319 compute\.A may not be empty/);
  const back = await host("host", "readmit", "A", "--yes", "--queue-purged");
  assert.match(back.out, /^A can return to service: start its nova-compute\.$/m, back.err);
  await ends(0, host("verify", ...places.slice(0, 2)));
});

test("a dead host without a service record must be readmitted before it starts", async (t) => {
  const cloud = await dead(t);
  const { host, nova, places } = cloud;
  const { id, ...service } = await nova("services").where({ host: "A" }).first();
  await nova("services").where({ id }).update({ deleted: id });
  const computes = nova("compute_nodes").where({ service_id: id });
  await computes.update({ deleted: nova.ref("id") });
  assert.match((await ends(4, host(...words(cloud, 1), "--yes"))).err, /N2I-E303/);
  const ran = await ends(0, host(...words(cloud, 1), ...DOWN));
  assert.match(ran.out, /Host move: 2 machines moved/);
  const verify = () => host("verify", ...places.slice(0, 2), "--queue-purged");
  assert.match((await ends(2, verify())).out, /nova-compute of B creates one in its next pass/);
  const b = await nova("services").where({ host: "B" }).first();
  await nova("compute_nodes").whereNot({ deleted: 0 }).update({ deleted: 0, service_id: b.id });
  await ends(0, verify());
  await nova("services").insert({ ...service, id: 99, updated_at: ago(600) });
  assert.match((await ends(2, verify())).out, /services:99 .*nova-compute of A started/);
  await ends(0, host("host", "readmit", "A", "--yes", "--queue-purged"));
  await ends(0, verify());
});

test("a host that reports, keeps its lease or is not confirmed down is refused", async (t) => {
  const cloud = await dead(t);
  const { bm, nova, host } = cloud;
  await bm("bm_service_leases").insert(ROW);
  const before = await cloud.dump();
  const refused = async (why: RegExp, status: number, ...said: readonly string[]) => {
    const ran = await host(...words(cloud, 1), ...said);
    assert.match(ran.err, why);
    assert.equal(ran.status, status, ran.err);
  };
  await refused(/N2I-E303 --yes does not confirm that A is down/, 4, "--yes");
  await refused(/N2I-E100 --to accepts only this host/, 64, ...DOWN, "--to", "C");
  const program = join(cloud.folder, "fence");
  writeFileSync(program, "#!/bin/sh\nexit 1\n", { mode: 0o700 });
  await refused(/N2I-E316 --fence-command ended with 1/, 4, "--yes", "--fence-command", program);
  assert.equal(await cloud.dump(), before);
  await bm("bm_service_leases").update({ heartbeat_ms: Date.now(), ttl_ms: 1e9 });
  await refused(/N2I-E317 .*renewed its lease/, 4, ...DOWN);
  await bm("bm_service_leases").update({ heartbeat_ms: 1 });
  await serviceOf(nova, "A").update({ updated_at: ago(-AHEAD) });
  await refused(/N2I-E317 .*N2I-D251/, 4, ...DOWN);
  await serviceOf(nova, "A").update({ updated_at: ago(600) });
  await ends(0, host(...words(cloud, 1), "--plan"));
});

test("a host without a lease that runs again fails verify until it is readmitted", async (t) => {
  const cloud = await dead(t);
  const { host, places } = cloud;
  await ends(0, host(...words(cloud, 1), ...DOWN));
  const verify = () => host("verify", ...places.slice(0, 2), "--queue-purged");
  await ends(0, verify());
  const seen = await ends(2, reporting(cloud, verify));
  assert.match(seen.out, /services:1 .*nova-compute of A runs again/);
  await ends(0, host("host", "readmit", "A", "--yes", "--queue-purged"));
  await ends(0, reporting(cloud, verify));
});

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, an instance Nova works on waits for a word, and goes with task_state cleared`, async (t) => {
    const cloud = await dead(t, { engine });
    const { host, nova } = cloud;
    const site = await asked(cloud);
    const stateOf = async () => {
      const row = await nova("instances").where({ id: 1 }).first();
      return [row.host, row.task_state, Boolean(row.locked)];
    };
    // A move is no takeover: its host may be alive.
    const run = ["--run", join(cloud.folder, "runs", "move")];
    const [, , ...more] = words(cloud, 1);
    const moved = await host("host", "plan", ...more, ...site, ...run);
    assert.match(moved.out + moved.err, /N2I-D260/);
    const first = await ends(3, host(...words(cloud, 1), ...DOWN, "--settle", "1"));
    assert.match(first.err, /Waiting at most 1 s: 1 instance of A with a task/);
    assert.deepEqual(await stateOf(), ["A", "powering-off", false]);
    await ends(0, host(...words(cloud, 1), ...DOWN, ...site));
    assert.deepEqual(await stateOf(), ["B", null, false]);
    // What is asked of B is B's: the machine stays.
    await nova("instances").where({ id: 1 }).update({ task_state: "powering-off" });
    const stays = await host("rollback", "--all", "--yes");
    assert.match(stays.out + stays.err, /Nova started powering-off on instance/);
    assert.deepEqual(await stateOf(), ["B", "powering-off", false]);
    await nova("instances").where({ id: 1 }).update({ task_state: null });
    await ends(0, host("rollback", "--all", "--yes"));
    assert.deepEqual(await stateOf(), ["A", null, false], "the request stays lost");
  });
