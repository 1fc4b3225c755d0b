import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hostCloud } from "./cloud.ts";

const DEAD = { H1: { forced_down: false, report_count: 7 } };
const TAKEOVER = ["host", "takeover", "--from", "H1", "--to", "H2", "--service-down-time", "1"];

test("a request that was taken for lost does not come back with its host", async (t) => {
  const cloud = await hostCloud(t, { services: DEAD });
  const { host, db, folder } = cloud;
  await db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  const site = join(folder, "site.json");
  const accept = [{ finding: "N2I-D260", reason: "its queue is emptied" }];
  const machines = [{ match: {}, set: {}, accept }];
  writeFileSync(site, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  const taken = await host(...TAKEOVER, "--confirmed-down", "--site", site);
  assert.equal(taken.status, 0, taken.out + taken.err);
  const row = () => db("instances").where({ id: 1 }).first("host", "task_state");
  assert.deepEqual(await row(), { host: "H2", task_state: null });
  const back = await host("rollback", "--all", "--yes");
  assert.equal(back.status, 0, back.out + back.err);
  // A nova-compute that starts would switch the machine off.
  assert.deepEqual(await row(), { host: "H1", task_state: null });
});

test("a fenced host that ran once more is let back when it is silent again", async (t) => {
  const cloud = await hostCloud(t, { services: DEAD });
  const { host, db } = cloud;
  assert.equal((await host(...TAKEOVER, "--confirmed-down")).status, 0);
  const counts = (by: number) =>
    db("services").where({ host: "H1" }).increment({ report_count: by });
  await counts(5);
  let running = true;
  const runs = (async () => {
    for (; running; await new Promise((done) => setTimeout(done, 100))) await counts(1);
  })();
  const seen = await host("verify", "--queue-purged");
  const early = await host("host", "readmit", "H1", "--queue-purged", "--yes");
  running = false;
  await runs;
  assert.equal(seen.status, 2, seen.err);
  assert.match(seen.out, /nova-compute of H1 runs again/);
  assert.equal(early.status, 4, early.err);
  assert.match(early.err, /N2I-E319 nova-compute of H1 runs again: stop it first/);
  const verified = await host("verify", "--queue-purged");
  assert.equal(verified.status, 0, verified.out + verified.err);
  const admitted = await host("host", "readmit", "H1", "--queue-purged", "--yes");
  assert.equal(admitted.status, 0, admitted.out + admitted.err);
  const service = await db("services").where({ host: "H1" }).first("forced_down");
  assert.equal(Boolean(service.forced_down), false);
});
