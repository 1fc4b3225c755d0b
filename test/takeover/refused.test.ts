import assert from "node:assert/strict";
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { ends, run, runs } from "../hostile/cli.ts";
import { ago, DOWN, deadCloud, hostCloud, MOVE, PLAN, QUICK, TAKE, uuidOf } from "./cloud.ts";

test("a host name that differs from Nova's in case alone is refused, and Nova's is named", async (t) => {
  const cloud = await hostCloud(t);
  for (const [name, ...words] of [
    ["H1", "host", "plan", "--from", "h1", "--to", "H2"],
    ["H3", "host", "plan", "--from", "H1", "--to", "H2,h3"],
    ["H1", "host", "takeover", "--from", "h1", "--to", "H2", "--confirmed-down"],
  ] as const) {
    const ran = await ends(64, cloud.host(...words, ...QUICK));
    assert.match(ran.err, new RegExp(`N2I-E100 Nova spells ${name.toLowerCase()} as ${name}`));
  }
  await ends(0, cloud.host(...PLAN));
  rmSync(join(cloud.folder, "runs", "h1", "plan"), { recursive: true });
  assert.match((await cloud.host(...MOVE)).err, /does not exist\.\n.*nova2ironic host plan/s);
});

test("the plan of a takeover is none that host move performs", async (t) => {
  const cloud = await deadCloud(t);
  const before = [await cloud.owners(), await cloud.services()];
  await ends(0, cloud.host(...TAKE, ...QUICK, "--plan"));
  const moved = await ends(4, cloud.host(...MOVE));
  assert.match(moved.err, /N2I-E315 .*takes over a dead host/);
  assert.deepEqual([await cloud.owners(), await cloud.services()], before);
  await ends(0, cloud.host(...DOWN));
});

test("a host that changed since the plan is met before anything is written", async (t) => {
  const cloud = await hostCloud(t);
  await ends(0, cloud.host(...PLAN));
  await cloud.db("services").where({ host: "H2" }).update({ forced_down: true });
  const moved = await ends(4, cloud.host(...MOVE));
  assert.match(moved.err, /N2I-E317 Destination compute is forced down!/);
  await cloud.db("services").where({ host: "H2" }).update({ forced_down: false });
  await cloud.db("services").where({ host: "H1" }).update({ forced_down: false });
  const other = await cloud.host(...MOVE);
  assert.match(other.err, /N2I-E317 Source service is not yet forced down!/);
  assert.deepEqual((await cloud.owners())[0], "1 H1 NULL H1");
});

test("what stands against one machine keeps it, and the others go", async (t) => {
  const cloud = await hostCloud(t);
  const { db } = cloud;
  await db("instances").where({ id: 1 }).update({ task_state: "rebooting" });
  await db("migrations").insert({
    ...{ source_compute: "H1", migration_type: "evacuation", status: "accepted", deleted: 0 },
    instance_uuid: uuidOf("instance", 3),
  });
  const planned = await cloud.host(...PLAN, "-f", "csv", "-c", "Verdict", "-c", "Findings");
  assert.deepEqual(planned.out.trim().split("\n").slice(1).toSorted(), [
    ...['"blocked","N2I-D260"', '"blocked","N2I-D263"', '"move",""', '"move",""'],
  ]);
  const moved = await ends(3, cloud.host(...MOVE));
  assert.match(moved.out, /2 rows changed, 0 already done; 2 machines were skipped/);
  const now = ["1 H1 NULL H1", "2 H2 NULL -", "3 H1 NULL H1", "4 H2 NULL -"];
  assert.deepEqual((await cloud.owners()).slice(0, 4), now);
});

test("a request that waits is told before the move", async (t) => {
  const cloud = await hostCloud(t);
  await cloud
    .db("instance_actions")
    .insert({
      ...{ action: "stop", instance_uuid: uuidOf("instance", 1), start_time: ago(100), deleted: 0 },
    });
  const planned = await cloud.host(...PLAN, "-f", "json");
  assert.match(planned.out, /N2I-D266/);
  const waits =
    /stop, requested at .*, waits for nova-compute on H1 \(rabbitmqctl purge_queue compute\.H1\)/;
  assert.match(planned.out, waits);
});

test("a run is of one kind: what is for Ironic refuses it, and leaves its plan where it is", async (t) => {
  const cloud = await hostCloud(t);
  const { at } = cloud;
  const db = ["--ironic-db", "sqlite:////nowhere"];
  const bm = ["--nova-bm-db", cloud.made.url];
  await ends(0, cloud.host(...PLAN));
  await ends(0, cloud.host(...MOVE));
  const folder = at[1] ?? "";
  const holds = () =>
    new Set(readdirSync(folder, { recursive: true }).filter((name) => name !== "log.jsonl"));
  const refuse = async (): Promise<void> => {
    const before = holds();
    for (const words of [
      ...[["extract", ...bm], ["plan", ...db], ["run"], ["report"], ["rehearse", ...db]],
      ...[["apply", ...db, "--yes", "--leave-nova"], ["retire", ...bm, ...db], ["power"]],
    ])
      assert.match((await runs(4, [...words, ...at])).err, /N2I-E315/, words.join(" "));
    assert.deepEqual(holds(), before);
  };
  await refuse();
  const next = await run(["next", ...at, "-f", "json"]);
  const { next: command, undo } = JSON.parse(next.out) as { next: string; undo: string };
  assert.match(command, /^nova2ironic verify --run /);
  assert.match(undo, /^nova2ironic rollback .*--all/);
  // Without its plan the run is still of its kind.
  renameSync(join(folder, "plan"), join(folder, "lost"));
  await refuse();
  renameSync(join(folder, "lost"), join(folder, "plan"));
  await ends(0, cloud.host("rollback", "--all", "--yes"));
  assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
});

test("a run that migrates machines is none that moves them between hosts", async (t) => {
  const cloud = await hostCloud(t);
  const path = join(cloud.folder, "runs", "h1");
  const folder = await openRun(path, { create: true });
  await markKind(folder, { kind: "migration" }, "extract");
  // A command that failed before it wrote anything does not decide the kind.
  await ends(0, cloud.host(...PLAN));
  const about = join(path, "run.json");
  writeFileSync(about, '{"format": "nova2ironic/run@1", "kind": "migration"}');
  assert.match((await cloud.host(...PLAN)).err, /N2I-E315 \S+ migrates machines to Ironic/);
  const missing = /run\.json is missing[\s\S]*"kind":"takeover","variant":"ironic"/;
  rmSync(about);
  assert.match((await cloud.host("status")).err, missing);
  for (const text of ["", '{"format": "nova2ironic/run@1", "kind": "takeover"}']) {
    writeFileSync(about, text);
    assert.match((await cloud.host(...PLAN)).err, /N2I-E113 \S+run\.json[\s\S]*"variant":"ironic"/);
  }
});

test("list says who owns what", async (t) => {
  const cloud = await hostCloud(t);
  const listed = await ends(0, run(["host", "list", ...cloud.nova, "-f", "json"]));
  const rows = JSON.parse(listed.out) as readonly { readonly [column: string]: unknown }[];
  assert.deepEqual(Object.keys(rows[0] ?? {}), [
    ...["Machine", "Name", "Owner", "Up", "Age", "Epoch", "Lock", "State", "Instance"],
  ]);
  const shown = rows.map((row) => [row.Owner, row.Up, row.Lock, row.State, row.Instance].join(" "));
  assert.deepEqual(shown.slice(0, 2), [
    `H1 down forced down active ${uuidOf("instance", 1)}`,
    "H1 down forced down idle ",
  ]);
  assert.equal(shown[4], "H2 up  idle ");
});
