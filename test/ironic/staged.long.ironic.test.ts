import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { needsIronic, withIronic } from "../lab/ironic/with-ironic.ts";
import { NATIVE, native } from "./native.ts";
import { loaded, type Scene, scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { rounds, takenOver } from "./taken-over.ts";
import { assertTold, loadedRows } from "./told.ts";

test("staged machines are handed over, one that fails ends it, and all of it can be taken back", async (t) => {
  const at = await staged(t);
  const third = String(loadedRows(at.plan(), "node")[2]?.uuid);
  const change = (values: object) => at.db("nodes").where({ uuid: third }).update(values);
  await change({ deploy_interface: "ansible" });
  const logged = ["--conductor-log", at.ironic.log];
  const one = ["--in-flight", "1", "--deadline", "10"];
  const failed = await at.runs(3, "handover", "--yes", ...one, ...logged);
  assert.match(failed.out, /3 machines released now, 2 handed over, 0 waiting, .* 1 failed/);
  assert.match(failed.out, new RegExp(`${third} .*no conductor took it over in 10 s`));
  assert.match(failed.out, /ERROR .*_sync_local_state.*: ansible/s);
  assert.match(failed.err, /Notice: takeover of all machines fails: .*: ansible/);
  await change({ deploy_interface: "direct" });
  const rest = await at.runs(0, "handover", "--yes", "--in-flight", "4");
  assert.match(rest.out, /9 machines released now, 12 handed over, 0 waiting, 7 held/);
  const seen = await at.runs(0, "verify", "--takeover");
  assert.match(seen.err, /Takeover: 12 handed over, 0 waiting, 0 staged, 7 held by the plan, 0 f/);
  await takenOver(at);
  await assertTold(at);
  assert.doesNotMatch((await at.runs(0, "verify")).err, /staged/);
  await at.runs(0, "handover", "--yes", "--undo");
  assert.match((await at.runs(0, "verify")).err, /; 12 machines staged\./);
  assert.deepEqual(at.sim.commands(), []);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(await tables(at.db), at.before);
});

test("no conductor touches a staged machine, and a rollback takes it back", async (t) => {
  const at = await staged(t);
  const rows = await tables(at.db);
  await lookedAt(at);
  assert.deepEqual(await tables(at.db), rows);
  assert.deepEqual(at.sim.commands(), []);
  const again = await at.runs(3, "apply", "--yes", "--skip-blocked");
  assert.match(again.out, /Apply: 0 rows created, 44 unchanged\./);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(await tables(at.db), at.before);
});

/** Waits until the conductor has looked at all machines several times, which another machine in use shows. */
async function lookedAt(at: Scene): Promise<void> {
  await native(at);
  const own = () => at.db("nodes").where({ uuid: NATIVE });
  await own().update({ provision_state: "active" });
  await rounds(at, NATIVE);
  const [{ id: node_id }] = await own();
  for (const table of ["node_traits", "ports"]) await at.db(table).where({ node_id }).delete();
  await own().delete();
}

/** Twenty machines loaded staged; `before` is what Ironic held. */
async function staged(t: TestContext) {
  const ironic = await needsIronic(t);
  const at = await scene(t, ironic, 20);
  const before = await tables(at.db);
  await at.planned();
  const loaded = await at.runs(3, "apply", "--yes", "--skip-blocked", "--staged");
  assert.match(loaded.err, /0 mismatched.*; 12 machines staged\./);
  return { ...at, before };
}

test("a conductor that starts finds the 20 machines loaded without it on PostgreSQL, and a staged load after them", async (t) => {
  const ironic = await withIronic(t, "postgresql", { asleep: true });
  const at = await scene(t, ironic, 20);
  const before = loads(await tables(at.db));
  await loaded(at);
  assert.match((await at.runs(2, "verify", "--takeover")).err, /: 0 handed over, 12 waiting, 0 st/);
  await ironic.wake();
  await takenOver(at);
  await assertTold(at);
  assert.match((await at.runs(0, "verify", "--takeover")).err, /: 12 handed over, 0 waiting/);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(loads(await tables(at.db)), before);
  await halfReleased(at);
  assert.deepEqual(loads(await tables(at.db)), before);
  await at.runs(3, "apply", "--yes", "--skip-blocked", "--staged");
  const released = await at.runs(0, "handover", "--yes", "--in-flight", "16");
  assert.match(released.out, /12 machines released now, 12 handed over, 0 waiting/);
  await at.runs(0, "verify", "--takeover");
  await assertTold(at);
  await at.runs(0, "handover", "--yes", "--undo");
  assert.match((await at.runs(0, "verify")).err, /; 12 machines staged\./);
  assert.deepEqual(at.sim.commands(), []);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(loads(await tables(at.db)), before);
});

/** Machines are released, the conductor cannot do all it should with one, and writes of it. */
async function halfReleased(at: Scene): Promise<void> {
  await at.runs(3, "apply", "--yes", "--skip-blocked", "--staged");
  const first = String(loadedRows(at.plan(), "node")[0]?.uuid);
  // It has no console to start.
  await at.db("nodes").where({ uuid: first }).update({ console_enabled: true });
  const logged = ["--conductor-log", at.ironic.log];
  const made = await at.runs(0, "handover", "--yes", "--in-flight", "16", "-f", "csv", ...logged);
  assert.match(made.err, /12 machines released now, 12 handed over, 0 waiting, .* 0 failed/);
  const quoted = `Failed to start console while taking over the node ${first}`;
  assert.match(
    made.out,
    new RegExp(`^"${first}",\\d+,"done","a conductor reports: ${quoted}`, "m"),
  );
  assert.match(made.out, new RegExp(`ERROR ironic\\S+ .*${quoted}`));
  const history: readonly { readonly event: string }[] = await at.db("node_history");
  assert.deepEqual(
    history.map(({ event }) => event.includes(quoted)),
    [true],
  );
  await at.runs(0, "rollback", "--all", "--yes");
}

function loads(all: Awaited<ReturnType<typeof tables>>): Awaited<ReturnType<typeof tables>> {
  return { ...all, conductors: [], conductor_hardware_interfaces: [] };
}
