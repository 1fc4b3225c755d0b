import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { forgetLast, MOVE, QUICK, uuidOf } from "./cloud.ts";
import { LEASE, legacyCloud, reporting } from "./legacy-cloud.ts";
import { takes } from "./legacy-does.ts";

const ROW = { ...LEASE, epoch: 3, fenced_by: "B" };
const READMIT = ["host", "readmit", "A", "--yes"];

/** A's second machine went to B; the first, with its tenant, stays. */
async function taken(t: Parameters<typeof legacyCloud>[0]) {
  const cloud = await legacyCloud(t, { machines: 2 });
  await ends(0, cloud.host("host", "plan", "--node", uuidOf("node", 2), "--to", "B", ...QUICK));
  await ends(0, cloud.host(...MOVE));
  await cloud.bm("bm_service_leases").insert(ROW);
  return cloud;
}

test("a fenced host gets its lease back once nothing stands against it, and says how long it has", async (t) => {
  const { host, bm, nova } = await taken(t);
  const lease = async () => {
    const row = await bm("bm_service_leases").first();
    return [Number(row.epoch), row.fenced_by, Number(row.heartbeat_ms) > 1];
  };
  const refused = async (why: RegExp, ...words: readonly string[]): Promise<void> => {
    const ran = await ends(4, host(...READMIT, ...words));
    assert.match(ran.err, why);
    assert.deepEqual(await lease(), [3, "B", false]);
  };
  await refused(/N2I-E319 compute\.A may not be empty/);
  const word = "--queue-purged";
  await nova("instances").where({ id: 1 }).update({ task_state: "migrating" });
  await refused(/machines of A have an unfinished move: .*: a0+-/, word);
  await nova("instances").where({ id: 1 }).update({ task_state: null });
  await nova("instances").where({ id: 1 }).update({ locked: true });
  const lock = /instances of A have a lock without an owner, left by an interrupted move: .*: b0+-/;
  await refused(lock, word);
  await nova("instances").where({ id: 1 }).update({ locked_by: "owner" });
  await bm("bm_nodes").where({ id: 1 }).update({ service_host: "C" });
  await refused(/instances have host A, but other hosts have their machines: b0+-/, word);
  await bm("bm_nodes").where({ id: 1 }).update({ service_host: "A" });
  // It ran since: it has to be watched.
  await nova("services").where({ host: "A" }).increment("report_count", 1);
  const other = await host("host", "readmit", "C", "--yes", word);
  assert.match(other.err, /N2I-E319 this run did not move any machine of C/);
  assert.match((await host("host", "readmit", "a", word)).err, /N2I-E100 Nova spells a as A/);
  const ran = await ends(0, host(...READMIT, word));
  assert.match(
    ran.out,
    /A can return to service: start its nova-compute and its agent, within 60 s/,
  );
  assert.deepEqual(await lease(), [3, null, true]);
  assert.match((await host(...READMIT, word)).out, /A is no longer fenced/);
  // Who let it back looked at its queue.
  await ends(0, host("verify"));
  await bm("bm_service_leases").delete();
  assert.match((await host(...READMIT, word)).out, /A is no longer fenced/);
});

const LONG = { ttl_ms: 600_000, fenced_at_ms: Date.now() - 300_000 };

/** Seconds of a watch that only a report ends: no machine is too slow for it. */
const ENDLESS = 500;

/**
 * An agent of B took A's second machine; its last plan, of the first one, moves nothing.
 *
 * @param down seconds that A is watched
 */
async function takenByAgent(t: Parameters<typeof legacyCloud>[0], down = 0.1) {
  const cloud = await legacyCloud(t, { machines: 2 });
  await cloud.bm("bm_service_leases").insert({ ...ROW, ...LONG });
  assert.equal((await takes(cloud, "h1", "A", "B", { ids: [2], down })).moved, 1);
  await cloud.nova("instances").update({ task_state: "powering-off" });
  assert.match(JSON.stringify(await takes(cloud, "h1", "A", "B", { ids: [1], down })), /N2I-D260/);
  await cloud.nova("instances").update({ task_state: null });
  return cloud;
}

test("a run of an agent whose last plan moves nothing knows the host that machines left", async (t) => {
  const { host, places } = await takenByAgent(t);
  const verify = (...words: readonly string[]) => host("verify", ...places.slice(0, 2), ...words);
  const asked = await ends(2, verify());
  assert.match(asked.out, /compute\.A.*not checked: on the broker, run rabbitmqctl purge_queue/);
  await ends(0, verify("--queue-purged"));
  const back = host(...READMIT, "--queue-purged");
  assert.match((await back).out, /A can return to service/, (await back).err);
});

test("a run whose machines were all blocked lets their host back", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  await cloud.bm("bm_service_leases").insert(ROW);
  await cloud.nova("instances").update({ task_state: "powering-off" });
  assert.equal((await takes(cloud, "h1", "A", "B", { ids: [1], down: 0.1 })).moved, 0);
  await cloud.nova("instances").update({ task_state: null });
  const ran = await cloud.host(...READMIT, "--queue-purged");
  assert.match(ran.out, /A can return to service/, ran.err);
});

test("a fenced host that reports is told by verify, and does not get its lease back", async (t) => {
  const cloud = await takenByAgent(t, ENDLESS);
  const { bm, host, places } = cloud;
  const words = [...places.slice(0, 2), "--queue-purged"];
  const verify = () => host("verify", ...words);
  const seen = await ends(2, reporting(cloud, verify));
  assert.match(seen.out, /services:1 .*nova-compute of A runs again \(report_count \d+\): stop/);
  const readmit = () => host(...READMIT, "--queue-purged");
  const ran = await ends(4, reporting(cloud, readmit));
  assert.match(ran.err, /N2I-E319 nova-compute of A runs again/);
  assert.equal((await bm("bm_service_leases").first()).fenced_by, "B");
});

test("a way back that dies once the fence is lifted ends by the same words, and verify knows of it", async (t) => {
  const { host, folder, places, bm } = await takenByAgent(t);
  const words = [...READMIT, "--queue-purged"];
  await ends(0, host(...words));
  // Its death before the journal has that end.
  assert.match(forgetLast(["--run", join(folder, "runs", "h1")]), /"do":"end"/);
  assert.equal((await bm("bm_service_leases").first()).fenced_by, null);
  await ends(2, host("verify", ...places.slice(0, 2)));
  const again = await host(...words);
  assert.match(again.out, /A can return to service: start .*, within \d+ s/, again.err);
  await ends(0, host("verify", ...places.slice(0, 2)));
  assert.match((await host(...words)).out, /A is no longer fenced/);
});
