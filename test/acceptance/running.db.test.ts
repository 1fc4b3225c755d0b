import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusal, start } from "../hostile/cli.ts";
import { plannedCloud } from "../migrate/nova/planned.ts";
import { changes } from "../migrate/nova/rows.ts";

// D-3. That one heard of within a minute is refused at once, test/migrate/nova/changed.test.ts shows.
test("on mysql, a nova-compute that counts on while it is watched is named before anything is written, and only told of with --allow-running-compute", async (t) => {
  const made = await plannedCloud("mysql", t);
  const { at, writer, novaWriter, nova } = made;
  const words = [...at, ...writer, ...novaWriter.slice(0, 2), "--yes"];
  const report = (more: object) => nova.db("services").where({ host: "compute-2" }).update(more);
  const watched = start(["apply", ...words, "--watch", "3600"]);
  await watched.said("Watching heartbeats of nova-compute for 3600 s.");
  // Its clock is years off, so that its age says nothing.
  await report({ report_count: 11 });
  const { status, err } = await watched.ended;
  const told = { status, err: err.slice(err.indexOf("ERROR")), out: "" };
  assertRefusal(told, 4, "N2I-E310", /compute-2 while it was watched \(report_count is now 11/);
  const there = await made.now();
  assert.deepEqual(changes(made.before.ironic, there.ironic), {});
  assert.deepEqual(changes(made.before.nova, there.nova), { "services report_count": 1 });
  await report({ report_count: 10 });

  await report({ updated_at: nova.db.raw("UTC_TIMESTAMP()") });
  const gone = await start(["apply", ...words, "--allow-running-compute"]).ended;
  assert.equal(gone.status, 0, gone.err);
  assert.match(gone.err, /^Warning: nova-compute reported from compute-2 \d+ s ago$/m);
  await report({ updated_at: "2014-12-01 00:00:00" });
  const back = await start(["rollback", ...words, "--all", "--watch", "1"]).ended;
  assert.equal(back.status, 0, back.err);
  assert.match(back.err, /Watching heartbeats of nova-compute for 1 s\./);
  await made.isAsBefore();
});

test("on mysql, an apply that changed Nova alone says that all is loaded when verify gets no answer", async (t) => {
  const made = await plannedCloud("mysql", t);
  const { at, writer, novaWriter, ironic } = made;
  // Ironic has its machines by then, so rows of Nova are all that the second one changes.
  const alone = await start(["apply", ...at, ...writer, "--leave-nova", "--yes"]).ended;
  assert.equal(alone.status, 3, alone.err);
  const words = ["apply", ...at, ...writer, ...novaWriter.slice(0, 2), "--yes", "--watch", "0"];
  // Flavors, hosts, what machines share: a batch each.
  const paused = start(words, { env: { NOVA2IRONIC_FAILPOINT: "nova.done.after:3:pause" } });
  await paused.said("failpoint nova.done.after");
  await ironic.db.schema.renameTable("ports", "elsewhere");
  paused.signal("SIGUSR2");
  const { status, err } = await paused.ended;
  await ironic.db.schema.renameTable("elsewhere", "ports");
  assert.equal(status, 5, err);
  assert.match(err, /N2I-E301 everything is loaded, but verify did not finish: N2I-E2/);
  const again = await start(words).ended;
  assert.equal(again.status, 0, again.err);
});
