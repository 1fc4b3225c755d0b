import assert from "node:assert/strict";
import { join } from "node:path";
import { ends } from "../hostile/cli.ts";
import { engines, test } from "../lab/engines.ts";
import { ago } from "./cloud.ts";
import { reporting } from "./legacy-cloud.ts";
import { asked, DOWN, dead, words } from "./legacy-trees.ts";

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
