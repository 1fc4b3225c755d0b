import assert from "node:assert/strict";
import { test } from "node:test";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { loaded, type Scene, scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { takenOver } from "./taken-over.ts";
import { assertTold, loadedRows } from "./told.ts";

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
