import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { IronicAt } from "../lab/ironic/start.ts";
import { needsIronic, withIronic } from "../lab/ironic/with-ironic.ts";
import { finished } from "./finished.ts";
import { native } from "./native.ts";
import { type Scene, scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { takenOver, until } from "./taken-over.ts";
import { assertTold, loadedRows } from "./told.ts";

test("a conductor takes over 60 machines on MariaDB, switches none, and a rollback leaves no trace", async (t) => {
  const ironic = await needsIronic(t);
  if (ironic !== null) await handedOver(t, ironic, 60);
});

test("a conductor that starts finds the 60 machines loaded without it on PostgreSQL, and a staged load after them", async (t) => {
  const ironic = await withIronic(t, "postgresql", { asleep: true });
  const at = ironic && (await scene(t, ironic, 60));
  if (at === null) return;
  const before = loads(await tables(at.db));
  await loaded(at);
  assert.match((await at.runs(2, "verify", "--takeover")).err, /: 0 handed over, 36 waiting, 0 st/);
  await ironic?.wake();
  await takenOver(at);
  await assertTold(at);
  assert.match((await at.runs(0, "verify", "--takeover")).err, /: 36 handed over, 0 waiting/);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(loads(await tables(at.db)), before);
  await halfReleased(at);
  assert.deepEqual(loads(await tables(at.db)), before);
  await at.runs(3, "apply", "--yes", "--skip-blocked", "--staged");
  const released = await at.runs(0, "release", "--yes", "--in-flight", "16");
  assert.match(released.out, /36 machines released now, 36 handed over, 0 waiting/);
  await at.runs(0, "verify", "--takeover");
  await assertTold(at);
  await at.runs(0, "release", "--yes", "--undo");
  assert.match((await at.runs(0, "verify")).err, /; 36 machines staged\./);
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
  const made = await at.runs(0, "release", "--yes", "--in-flight", "16", "-f", "csv", ...logged);
  assert.match(made.err, /36 machines released now, 36 handed over, 0 waiting, .* 0 failed/);
  const quoted = `Failed to start console while taking over the node ${first}`;
  assert.match(made.out, new RegExp(`^"${first}",\\d+,"done","a conductor says: ${quoted}`, "m"));
  assert.match(made.out, new RegExp(`ERROR ironic\\S+ .*${quoted}`));
  const history: readonly { readonly event: string }[] = await at.db("node_history");
  assert.deepEqual(
    history.map(({ event }) => event.includes(quoted)),
    [true],
  );
  await at.runs(0, "rollback", "--all", "--yes");
}

/** But for what a conductor writes of itself. */
function loads(all: Awaited<ReturnType<typeof tables>>): Awaited<ReturnType<typeof tables>> {
  return { ...all, conductors: [], conductor_hardware_interfaces: [] };
}

async function loaded(at: Scene): Promise<void> {
  await at.runs(0, "extract");
  // Its status is that of machines that have no BMC to ask.
  await at.runs(3, "power", "-q");
  await at.runs(0, "plan", "-q");
  const blocked = at.plan().filter(({ verdict }) => verdict === "blocked");
  assert.equal(blocked.length, at.plan().length / 20);
  await at.runs(3, "apply", "--yes", "--skip-blocked");
}

async function handedOver(t: TestContext, ironic: IronicAt, machines: number): Promise<void> {
  const at = await scene(t, ironic, machines);
  if (at === null) return;
  await native(at);
  const before = await tables(at.db);
  await loaded(at);
  await assertTold(at);
  await takenOver(at);
  await released(at);
  await assertTold(at);
  await at.runs(0, "verify");
  assert.deepEqual(at.sim.commands(), [], "what the BMCs were told");
  await finished(at);
  await staleWouldSwitch(at);
  await rolledBack(at);
  assert.deepEqual(await tables(at.db), before);
}

/** A machine held in maintenance is taken over as soon as an operator clears it. */
async function released({ api, db, plan }: Scene): Promise<void> {
  const held = loadedRows(plan(), "node").find(
    ({ maintenance, provision_state }) => maintenance === true && provision_state === "active",
  );
  const path = `/v1/nodes/${String(held?.uuid)}/maintenance`;
  const row = () => db("nodes").where({ uuid: String(held?.uuid) });
  assert.equal((await row())[0].conductor_affinity, null);
  assert.equal((await api("DELETE", path)).status, 202);
  await until("released, but not taken over", async () => {
    const [{ conductor_affinity, reservation, last_error }] = await row();
    return conductor_affinity !== null && reservation === null ? [] : [String(last_error)];
  });
  const reason = held?.maintenance_reason;
  assert.equal((await api("PUT", path, { reason })).status, 202);
}

/** That the BMCs were told nothing is the plan's doing: a power state that is wrong is enforced. */
async function staleWouldSwitch({ db, plan, sim }: Scene): Promise<void> {
  const [first] = loadedRows(plan(), "node");
  const row = () => db("nodes").where({ uuid: String(first?.uuid) });
  await row().update({ power_state: "power off" });
  await until("a wrong power state, but nothing was switched", async () =>
    sim.commands().includes("0 power 0") ? [] : ["no command"],
  );
  await until("the machine is still reserved", async () => {
    const [{ reservation, target_power_state }] = await row();
    return reservation === null && target_power_state === null ? [] : [String(reservation)];
  });
}

/** What a conductor wrote about a machine goes with it; what an operator wrote keeps it. */
async function rolledBack(at: Scene): Promise<void> {
  const [first, second] = loadedRows(at.plan(), "node");
  const [node] = await at.db("nodes").where({ uuid: String(first?.uuid) });
  const of = { node_id: node.id, version: "1.0", created_at: "2026-01-01 00:00:00" };
  await at.db("node_history").insert({ ...of, uuid: first?.uuid, event: "seen", severity: "INFO" });
  await at.db("bios_settings").insert({ ...of, name: "Turbo", value: "on" });
  const inventory = { inventory_data: "{}", plugin_data: "{}" };
  await at.db("node_inventory").insert({ ...of, ...inventory });
  const traits = `/v1/nodes/${String(second?.uuid)}/traits`;
  assert.equal((await at.api("PUT", traits, { traits: ["CUSTOM_OURS"] })).status, 204);
  const { out } = await at.runs(2, "rollback", "--all", "--yes", "--after-finish");
  assert.match(out, new RegExp(`node:${String(second?.uuid)} .*node_traits`));
  assert.equal((await at.api("DELETE", traits)).status, 204);
  await at.runs(0, "rollback", "--all", "--yes");
}
