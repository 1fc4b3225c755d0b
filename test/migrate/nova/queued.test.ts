import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import { waitingRequests } from "../../../src/systems/nova-db/requests.ts";
import { caseUuid } from "../../cases/case.ts";
import { loadNova } from "../../cases/load-case.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { hideTables } from "../../hostile/hidden.ts";
import { engines, test } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { open } from "../../support/planned-case.ts";
import { requestsIn } from "../../support/requests.ts";
import { checkRows, checkSays } from "./check-output.ts";
import { cloud } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";

const UUID = caseUuid("instance", 1);
const PURGE =
  /stop, requested at 2014-12-02 00:00:00, .*rabbitmqctl purge_queue compute\.compute-1/s;

const act = (action: string, start_time: string) => ({ action, instance_uuid: UUID, start_time });

async function novaOf(engine: Engine, t: TestContext, version: number) {
  const made = await withDatabase(engine, t);
  await loadNova(made.db, engine, cloud({ machines: 1, others: 1, version }));
  await requestsIn(made.db);
  const database = await open("env:NOVA", true, { NOVA: made.url });
  t.after(() => database.close());
  const waiting = async () =>
    ((await waitingRequests(database, [{ uuid: UUID, host: "compute-1" }])).get(UUID) ?? []).map(
      ({ action }) => action,
    );
  return { db: made.db, waiting };
}

for (const engine of engines())
  test(`on ${engine}, a request without an event waits when its host was not seen since`, async (t) => {
    const { db, waiting } = await novaOf(engine, t, 302);
    await db("services").update({ last_seen_up: "2014-12-01 12:00:00" });
    await db("instance_actions").insert([
      act("start", "2014-12-01 11:59:00"),
      act("lock", "2014-12-02 00:00:00"),
      act("stop", "2014-12-02 00:00:00"),
    ]);
    assert.deepEqual(await waiting(), ["stop"]);
    // What was done has an event; finish_time stays NULL all the same.
    await db("instance_actions_events").insert({ action_id: 3, event: "compute_stop_instance" });
    assert.deepEqual(await waiting(), []);
    await db("instance_actions").insert(act("reboot", "2014-12-02 00:00:01"));
    assert.deepEqual(await waiting(), ["reboot"]);
    await db("services").update({ last_seen_up: "2014-12-02 00:00:02" });
    assert.deepEqual(await waiting(), []);
    // A conductor tells of a rebuild before any nova-compute does; a call ends with its caller.
    await db("instance_actions").insert([
      act("rebuild", "2014-12-02 00:00:03"),
      act("attach_interface", "2014-12-02 00:00:04"),
      act("detach_interface", "2014-12-02 00:00:05"),
      act("trigger_crash_dump", "2014-12-02 00:00:06"),
      act("create", "2014-12-02 00:00:07"),
    ]);
    await db("instance_actions_events").insert([
      { action_id: 5, event: "rebuild_server" },
      { action_id: 9, event: "conductor_schedule_and_build_instances" },
    ]);
    const waits = ["rebuild", "detach_interface", "trigger_crash_dump", "create"];
    assert.deepEqual(await waiting(), waits);
    // What its host began later, it had worked off before.
    const done = { action_id: 9, event: "compute__do_build_and_run_instance" };
    await db("instance_actions_events").insert(done);
    assert.deepEqual(await waiting(), []);
  });

test("before Liberty a request waits until a later one was begun, whatever became of the service's row", async (t) => {
  const { db, waiting } = await novaOf("sqlite", t, 254);
  await db("instance_actions").insert(act("stop", "2014-12-02 00:00:00"));
  await db("services").update({ updated_at: "2014-12-03 00:00:00", disabled: true });
  assert.deepEqual(await waiting(), ["stop"]);
  await db("instance_actions").insert(act("start", "2014-12-04 00:00:00"));
  await db("instance_actions_events").insert({ action_id: 2, event: "compute_start_instance" });
  assert.deepEqual(await waiting(), []);
  await db.schema.dropTable("instance_actions_events");
  assert.deepEqual(await waiting(), []);
});

test("plan, check, apply and rollback name a request that waits, with the command that takes it away", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { nova, at, reader, source, plan } = made;
  await requestsIn(nova.db);
  const open = await checkRows(made);
  assert.match(open("Queued requests"), /^Success/);
  await nova.db("instance_actions").insert(act("stop", "2014-12-02 00:00:00"));
  const row = await checkRows(made);
  assert.match(row("Queued requests"), PURGE);
  const planning = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"];
  const refused = await ends(4, made.act(["apply"]));
  assert.match(refused.err, /N2I-E314/);
  assert.match(refused.err, PURGE);
  await ends(0, made.act(["apply", "--allow-queued-requests"]));
  await nova.db("instance_actions").insert(act("reboot", "2014-12-02 00:00:00"));
  const back = await ends(4, made.act(["rollback", "--all"]));
  assert.match(back.err, /N2I-E314.*reboot, requested at .*purge_queue compute\.ironic-compute/s);
  await ends(0, made.act(["rollback", "--all", "--allow-queued-requests"]));
  const again = await run([...planning, "--compute-host", "ironic-compute"]);
  assert.match(again.out, /N2I-D243/);
});

test("a task_state that remains set while nova-compute is down is reported with the command, even without an action", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { nova, at, reader, source, plan } = made;
  await nova.db("instances").where({ uuid: UUID }).update({ task_state: "powering-off" });
  const purge = /powering-off is set.*rabbitmqctl purge_queue compute\.compute-1/;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const planning = ["plan", ...at, ...reader, ...source.slice(2, 4), "--compute-host", "c-9"];
  const { out } = await run([...planning, ...plan, "-q"]);
  assert.match(out, /N2I-D206/);
  const whole = await runs(0, ["show", `${at[1]}/plan`, "-f", "json"]);
  assert.match(whole.out, /N2I-D243/);
  const row = await checkRows(made);
  assert.match(row("Queued requests"), purge);
  // The same if instance_actions has the request, which already blocks the machine.
  await requestsIn(nova.db);
  await nova.db("instance_actions").insert(act("stop", "2014-12-02 00:00:00"));
  await runs(2, [...planning, ...plan, "--detailed-exitcode", "-q"]);
  assert.match((await runs(0, ["show", `${at[1]}/plan`, "-f", "json"])).out, PURGE);
});

for (const engine of engines("mysql"))
  test("check says that it may not read the requests, with the grant, where MySQL hides their table", async (t) => {
    const made = await plannedCloud(engine, t);
    const { nova, users } = made;
    await requestsIn(nova.db);
    await hideTables(nova, users.nova, "SELECT", ["instance_actions"]);
    const before = (await checkRows(made))("Queued requests");
    assert.match(before, /^Warning: .*may not read instance_actions\.\nFix: GRANT SELECT ON /);
    await nova.db.raw(/GRANT .*/.exec(before)?.[0] ?? "");
    await checkSays(made, "Queued requests", /^Success/);
  });
