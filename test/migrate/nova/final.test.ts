import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { placementDatabase } from "./placement.ts";
import { plannedCloud } from "./planned.ts";
import { computeStarts } from "./walking.ts";

test("verify with nova counts what it compared, and fails on a cloud that lost every hypervisor", async (t) => {
  const made = await plannedCloud("sqlite", t, []);
  const { act, at, folder, nova, ironic, reader, source } = made;
  await ends(0, act(["apply"]));
  const words = ["verify", ...at, ...reader, ...source.slice(2, 4), "-q"];
  const computes = nova.db("compute_nodes");
  const now = () => new Date().toISOString().slice(0, 19).replace("T", " ");

  const before = await runs(0, words.slice(0, -1));
  assert.match(
    before.err,
    /0 rows in the plan, 4 machines, 4 instances, 0 hypervisors compared; 0/,
  );
  assert.match(
    before.err,
    /^4 machines have no compute node in Nova, .*\nNext: \S+ verify .*--final$/m,
  );
  const said = await ends(2, run([...words, "--final", "-f", "csv"]));
  assert.equal(said.out.match(/no live compute node .*no nova-compute service/g)?.length, 4);
  assert.match(said.err, /^4 machines have .* Start nova-compute /m);
  assert.equal(said.out.match(/^"node".*"power_state"/gm)?.length, 4, said.out);

  // An earlier plan of the run deleted them in the second in which this one was made.
  const [, made_at = ""] =
    /"made_at": ?"([^"]{19})/.exec(readFileSync(join(at[1] ?? "", "plan", "plan.json"), "utf8")) ??
    [];
  const deleted = { deleted: nova.db.ref("id"), deleted_at: made_at.replace("T", " ") };
  await computes.clone().update(deleted);
  await runs(0, words);
  // A nova-compute met an empty Ironic: as measured, it soft-deletes all of them.
  await computes.clone().update({ deleted: nova.db.ref("id"), deleted_at: "2099-01-01 00:00:00" });
  const lost = await ends(2, run(words));
  assert.equal(lost.out.match(/was deleted since the plan/g)?.length, 4, lost.out);
  await computes.clone().del().whereIn("id", [1, 2]);
  // Before Liberty whoever disables a service changes the only time it has.
  await nova.db("services").update({ updated_at: now(), disabled: true });
  const disabled = await run(words);
  assert.doesNotMatch(disabled.out, /has reported since/);
  const gone = await ends(2, run([...words, "--final"]));
  assert.equal(gone.out.match(/no live .*no nova-compute service/g)?.length, 4, gone.out);
  await made.copy("kept");
  words.push("--final");

  // It runs and has them all, and each has its power.
  await computeStarts(made);
  const whole = await runs(0, words);
  assert.match(whole.err, /4 machines, 4 instances, 4 hypervisors compared; 0 mismatched\.$/m);
  await computeLogs(join(folder, "nova-compute.log"), words);
  await ironic
    .db("nodes")
    .where({ uuid: caseUuid("node", 2) })
    .update({ last_error: "no route" });
  assert.match((await runs(2, words)).out, /node .*000002 .*last_error/);
  await ironic.db("nodes").update({ last_error: null });

  // A tenant deleted its server, and another one got the machine: nobody did anything wrong.
  const [second, old] = [caseUuid("node", 2), caseUuid("instance", 2)];
  const next = { id: 900, uuid: caseUuid("instance", 900) };
  const [given] = await nova.db("instances").where({ uuid: old });
  await nova.db("instances").where({ uuid: old }).update({ deleted: given.id });
  await nova.db("instances").insert({ ...given, ...next });
  const node = () => ironic.db("nodes").where({ uuid: second });
  await node().update({
    ...{ instance_uuid: next.uuid, instance_info: '{"image_source": "another"}' },
    provision_updated_at: "2099-01-01 00:00:00",
  });
  const used = await runs(0, words);
  assert.match(used.err, /0 mismatched, .* 1 changed by use since the hand-over/);
  assert.match((await runs(0, [...words, "--all-rows"])).out, /node .*000002 .* used /);
  // Nova frees it: for a moment both are there, and the row says what to do.
  const again = /instance .*: refers to this node, .* Wait a minute, then run verify again/;
  const [left] = await nova.db("instances").where({ uuid: old });
  await nova.db("instances").where({ uuid: old }).update({ deleted: 0, task_state: "deleting" });
  assert.match((await runs(2, words)).out, again);
  await nova.db("instances").where({ uuid: old }).update({ task_state: null });
  const stays = (await runs(2, words)).out;
  assert.match(stays, /refers to this node/);
  assert.doesNotMatch(stays, /Wait a minute/);
  await nova.db("instances").where({ uuid: old }).update(left);
  await node().update({ provision_state: "available", instance_uuid: old });
  assert.match((await runs(2, words)).out, /node .*000002 .*mismatched .*Wait a minute/);
  await node().update({ provision_state: "active", instance_uuid: next.uuid });
  await nova.db("instances").where({ id: 900 }).update({ host: "elsewhere" });
  assert.match((await runs(2, words)).out, /instance .*000900: host is "elsewhere"/);
  await nova.db("instances").where({ id: 900 }).update({ host: given.host });
  // In use and nobody's is nobody's use.
  await node().update({ instance_uuid: null });
  assert.match((await runs(2, words)).out, /node .*000002 .*mismatched .*instance_uuid/);
  await node().update({ instance_uuid: next.uuid });

  const { db: placement, url } = await placementDatabase(t);
  const all = [...words, "--placement-db", url];
  const none = await runs(2, all);
  assert.equal(none.out.match(/no resource provider in Placement/g)?.length, 4, none.out);
  for (const id of [1, 2, 3, 4])
    await placement("resource_providers").insert({
      ...{ id, uuid: caseUuid("node", id), name: caseUuid("node", id) },
    });
  const bare = await runs(2, all);
  assert.equal(
    bare.out.match(
      /has no allocation. To create it: stop .*inventory set [0-9a-f-]{36} .* heal_allocations/g,
    )?.length,
    3,
    bare.out,
  );
  const places = [...made.source.slice(2, 4), ...all.slice(-2)];
  const status = await runs(0, ["status", ...made.at, ...places]);
  assert.match(status.out, /3 live instances have none: .* heal_allocations; start nova-compute/);
  for (const id of [1, 2, 3, 4])
    await placement("allocations").insert({
      ...{ consumer_id: caseUuid("instance", id), resource_provider_id: id, used: 1 },
    });
  assert.match((await runs(0, all)).err, /4 hypervisors, 4 resource providers compared; 0/);
});

/** What `verify --final` makes of a nova-compute's log, where all else is well. */
async function computeLogs(log: string, words: readonly string[]): Promise<void> {
  const AT = "2023-05-01 10:00:00.1 77";
  const started = `${AT} INFO nova.virt.driver [-] Loading compute driver 'ironic.IronicDriver'`;
  const asked = [...words, "--compute-log", log];
  writeFileSync(log, `${AT} ERROR nova.a [-] of yesterday\n${started}\n`);
  const well = await runs(0, asked);
  assert.match(
    well.err,
    /^nova-compute: started with the ironic driver and without errors since, according to 1/m,
  );
  const bad = "Error contacting Ironic server for 'node.list'. password=hunter2";
  appendFileSync(log, `${AT} WARNING nova.b [-] ${bad}\n`);
  const told = await runs(2, asked);
  assert.match(told.out, /nova-compute\.log:3 .*Error contacting Ironic.* password=\*\*\*/);
  assert.match(told.err, /^nova-compute: 1 fault in 1 log since its start/m);
  // Seen; the start before it counts all the same.
  await runs(0, [...asked.slice(0, -1), `${log}:4`]);
  writeFileSync(log, `${AT} INFO nova.a [-] fine\n`);
  assert.match((await runs(2, asked)).out, /no nova-compute start/);
}
