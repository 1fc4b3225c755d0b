import assert from "node:assert/strict";
import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { finished } from "./finished.ts";
import { native } from "./native.ts";
import { loaded, type Scene, scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { takenOver, until } from "./taken-over.ts";
import { assertTold, loadedRows } from "./told.ts";

test("a conductor takes over 60 machines on MariaDB, switches none, and a rollback leaves no trace", async (t) => {
  const at = await scene(t, await needsIronic(t), 60);
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
});

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
