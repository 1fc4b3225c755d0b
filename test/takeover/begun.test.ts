import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { lockTarget } from "../../src/systems/database/target-lock.ts";
import { ends } from "../hostile/cli.ts";
import { open } from "../support/planned-case.ts";
import {
  DOWN,
  deadCloud,
  type HostCloud,
  hostCloud,
  QUICK,
  reportH1,
  reportsOn,
  TAKE,
  takenForLost,
  uuidOf,
} from "./cloud.ts";

/** A takeover that is fenced and has moved nothing: Nova refuses each change of a machine. */
async function cut({ db, host }: HostCloud, words: readonly string[] = DOWN): Promise<void> {
  const refuse = "BEGIN SELECT RAISE(ABORT, 'cut'); END";
  await db.raw(`CREATE TRIGGER cut BEFORE UPDATE ON compute_nodes ${refuse}`);
  assert.match((await ends(1, host(...words))).err, /N2I-E207 writing compute_nodes/);
  await db.raw("DROP TRIGGER cut");
}

test("a takeover that was begun goes nowhere else, and says which words wait for its end", async (t) => {
  const cloud = await deadCloud(t);
  const { host, folder, db } = cloud;
  await db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  await cut(cloud);
  const before = await cloud.owners();
  const other = await ends(64, host(...DOWN.map((word) => (word === "H2" ? "H3" : word))));
  assert.match(other.err, /N2I-E100 this takeover was started with --to H2, not H3/);
  assert.match(other.err, /nova2ironic rollback --run \S+ --all/);
  const slower = await host(...TAKE, "--service-down-time", "7", "--confirmed-down");
  assert.match(slower.err, /started with a service_down_time of 60 s, not 7 s/);
  const conf = join(folder, "nova.conf");
  writeFileSync(conf, "[DEFAULT]\nservice_down_time = 90\n");
  const told = await host(...TAKE, "--nova-conf", conf, "--confirmed-down");
  assert.match(told.err, /started with a service_down_time of 60 s, not 90 s/);
  const shown = await ends(0, host(...DOWN, "--plan", "-f", "csv", "-c", "Machine"));
  assert.equal(shown.out.trim().split("\n").length, 5, shown.out);
  assert.deepEqual(await cloud.owners(), before);
  const more = [...takenForLost(folder), "--force-aggregates"];
  const on = await ends(3, host(...DOWN, ...more));
  assert.match(on.err, /Resuming .*\. --site and --force-aggregates are used after it is/);
  assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
  await ends(0, host(...DOWN, ...more));
  assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
});

test("a host that reported once after it was fenced is watched again, and not alive for ever", async (t) => {
  const cloud = await deadCloud(t);
  const { host, db, owners } = cloud;
  await cut(cloud);
  await reportH1(db);
  const on = await ends(0, host(...TAKE, "--confirmed-down"));
  assert.match(on.err, /Watching H1 for 60 s/);
  assert.equal((await owners())[0], "1 H2 NULL H2");
});

test("a move soon after its plan watches the host for what is left of its time", async (t) => {
  const { host, owners } = await hostCloud(t);
  const now = Date.now();
  t.mock.timers.enable({ apis: ["Date"], now: now - 499_800 });
  const plan = ["host", "plan", "--from", "H1", "--to", "H2", "--service-down-time", "500"];
  await ends(0, host(...plan));
  t.mock.timers.setTime(now);
  const moved = await ends(0, host("host", "move", "--yes"));
  assert.match(moved.err, /Watching H1 for 0\.2 s/);
  assert.equal((await owners())[0], "1 H2 NULL H2");
});

test("the site's fence runs under the lock, once for a plan, and the journal has it", async (t) => {
  const cloud = await deadCloud(t);
  const { host, folder, made, at, nova } = cloud;
  const [fence, ran] = [join(folder, "fence"), join(folder, "ran")];
  writeFileSync(fence, `#!/bin/sh\necho fenced >> ${ran}\n`, { mode: 0o700 });
  const words = [...TAKE, ...QUICK, "--fence-command", fence, "--yes"];
  const database = await open("env:NOVA", false, { NOVA: made.url });
  t.after(() => database.close());
  const lock = await lockTarget(database);
  const held = await host(...words);
  await lock.release();
  assert.equal(held.status, 11, held.err);
  assert.equal(existsSync(ran), false);
  const unfit = cloud.db("services").where({ host: "H2" });
  await unfit.clone().update({ disabled: true });
  await ends(4, host(...words));
  assert.equal(existsSync(ran), false, "nothing is fenced for nothing");
  await unfit.clone().update({ disabled: false });
  await cut(cloud, words);
  const on = await ends(0, host(...words));
  assert.match(on.err, /Fence command for H1: it succeeded before, so it is not run again/);
  assert.equal(readFileSync(ran, "utf8"), "fenced\n");
  const journal = readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8");
  const entries = journal.match(/"do":"(start|end)","part":"host-fence-command"/g);
  assert.equal(entries?.length, 2, journal);
  // Another takeover of the run is another fence.
  await ends(0, host("rollback", "--all", "--yes"));
  assert.equal((await host(...words)).status, 0, nova.join(" "));
  assert.equal(readFileSync(ran, "utf8"), "fenced\nfenced\n");
});

test("status names no host where nothing leaves one", async (t) => {
  const cloud = await deadCloud(t);
  const words = ["--node", uuidOf("node", 1), "--to", "H2", ...QUICK];
  await ends(0, cloud.host("host", "plan", ...words));
  const { out } = await cloud.host("status");
  assert.match(out, /move to H2: 0 machines to move, 0 already there, 1 blocked/);
});

test("a fenced host that ran once more is let back when it is silent again", async (t) => {
  const { host, db } = await deadCloud(t);
  await ends(0, host(...TAKE, "--service-down-time", "100", "--confirmed-down"));
  await db("services").where({ host: "H1" }).increment({ report_count: 5 });
  const verify = () => host("verify", "--queue-purged");
  const readmit = () => host("host", "readmit", "H1", "--queue-purged", "--yes");
  const seen = await ends(2, reportsOn(db, verify));
  assert.match(seen.out, /nova-compute of H1 runs again/);
  const early = await ends(4, reportsOn(db, readmit));
  assert.match(early.err, /N2I-E319 nova-compute of H1 runs again: stop it first/);
  await ends(0, verify());
  await ends(0, readmit());
  const service = await db("services").where({ host: "H1" }).first("forced_down");
  assert.equal(Boolean(service.forced_down), false);
});
