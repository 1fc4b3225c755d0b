import assert from "node:assert/strict";
import { test } from "node:test";
import { liftFence } from "../../src/edge/leases/leases.ts";
import { ENGINES } from "../edge/leases/place.ts";
import { uuidOf } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";

const LEASE = { host: "A", epoch: 3, heartbeat_ms: 1, ttl_ms: 60_000, fenced_by: "B" };
const READMIT = ["host", "readmit", "A", "--yes"];

/** A's second machine went to B; the first, with its tenant, stays. */
async function taken(t: Parameters<typeof legacyCloud>[0]) {
  const cloud = await legacyCloud(t, { machines: 2 });
  assert.ok(cloud);
  const to = ["--to", "B", "--service-down-time", "0.1"];
  assert.equal((await cloud.host("host", "plan", "--node", uuidOf("node", 2), ...to)).status, 0);
  assert.equal((await cloud.host("host", "move", "--yes")).status, 0);
  await cloud.bm("bm_service_leases").insert(LEASE);
  return cloud;
}

test("a fenced host gets its lease back once nothing stands against it, and says how long it has", async (t) => {
  const { host, bm, nova } = await taken(t);
  const lease = async () => {
    const row = await bm("bm_service_leases").first();
    return [Number(row.epoch), row.fenced_by, Number(row.heartbeat_ms) > 1];
  };
  const refused = async (why: RegExp, ...words: readonly string[]): Promise<void> => {
    const ran = await host(...READMIT, ...words);
    assert.equal(ran.status, 4, ran.out + ran.err);
    assert.match(ran.err, why);
    assert.deepEqual(await lease(), [3, "B", false]);
  };
  await refused(/N2I-E319 whether compute\.A is empty is not known/);
  const word = "--queue-purged";
  await nova("instances").where({ id: 1 }).update({ task_state: "migrating" });
  await refused(/machines of A are half way, .*: a0+-/, word);
  await nova("instances").where({ id: 1 }).update({ task_state: null });
  await bm("bm_nodes").where({ id: 1 }).update({ service_host: "C" });
  await refused(/instances name A whose machines others have: b0+-/, word);
  await bm("bm_nodes").where({ id: 1 }).update({ service_host: "A" });
  const report = () => nova("services").where({ host: "A" }).increment("report_count", 1);
  await report();
  const beat = setInterval(() => void report().then(() => undefined), 20);
  await refused(/nova-compute of A runs again/, word).finally(() => clearInterval(beat));
  const other = await host("host", "readmit", "C", "--yes", word);
  assert.match(other.err, /N2I-E319 this run took no machine of C/);
  const ran = await host(...READMIT, word);
  assert.equal(ran.status, 0, ran.out + ran.err);
  assert.match(ran.out, /A may come back: start its nova-compute and its agent, within 60 s/);
  assert.deepEqual(await lease(), [3, null, true]);
  assert.match((await host(...READMIT, word)).out, /A is not fenced any more/);
  // Who let it back looked at its queue.
  assert.equal((await host("verify")).status, 0);
  await bm("bm_service_leases").delete();
  assert.match((await host(...READMIT, word)).err, /N2I-E319 nova_bm has no lease of A/);
});

for (const engine of ENGINES)
  test(`on ${engine}, a fence is lifted once, and only as it was seen`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 1 });
    if (cloud === null) return;
    const { bm } = cloud;
    await bm("bm_service_leases").insert(LEASE);
    await cloud.withPlace(async ({ leases }) => {
      assert.equal(await liftFence(leases, { host: "A", epoch: 2 }), false);
      assert.equal(await liftFence(leases, LEASE), true);
      assert.equal(await liftFence(leases, LEASE), false);
    });
    const row = await bm("bm_service_leases").first();
    assert.deepEqual([row.fenced_by, Number(row.epoch)], [null, 3]);
  });
