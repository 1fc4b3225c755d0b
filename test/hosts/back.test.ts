import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { hostCloud } from "./cloud.ts";

const DEAD = { H1: { forced_down: false, report_count: 7 } };
const TAKEOVER = ["host", "takeover", "--from", "H1", "--to", "H2", "--service-down-time", "1"];

test("a request that was taken for lost does not come back with its host", async (t) => {
  const { host, db, folder } = await hostCloud(t, { services: DEAD });
  await db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  const site = join(folder, "site.json");
  const accept = [{ finding: "N2I-D260", reason: "its queue is emptied" }];
  const machines = [{ match: {}, set: {}, accept }];
  writeFileSync(site, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  await ends(0, host(...TAKEOVER, "--confirmed-down", "--site", site));
  const row = () => db("instances").where({ id: 1 }).first("host", "task_state");
  assert.deepEqual(await row(), { host: "H2", task_state: null });
  await ends(0, host("rollback", "--all", "--yes"));
  // A nova-compute that starts would switch the machine off.
  assert.deepEqual(await row(), { host: "H1", task_state: null });
});

test("a fenced host that ran once more is let back when it is silent again", async (t) => {
  const { host, db } = await hostCloud(t, { services: DEAD });
  await ends(0, host(...TAKEOVER, "--confirmed-down"));
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
  await ends(0, host("verify", "--queue-purged"));
  await ends(0, host("host", "readmit", "H1", "--queue-purged", "--yes"));
  const service = await db("services").where({ host: "H1" }).first("forced_down");
  assert.equal(Boolean(service.forced_down), false);
});
