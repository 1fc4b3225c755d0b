import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ends } from "../hostile/cli.ts";
import { engines, test } from "../lab/engines.ts";
import { AHEAD, ago, serviceOf } from "./cloud.ts";
import { moveOf } from "./legacy-cloud.ts";
import { DOWN, dead, ROW, words } from "./legacy-trees.ts";

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
