import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, caseUuid } from "../cases/case.ts";
import { acceptOf, SITE, tenant } from "../hostile/fleet.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { finished } from "./finished.ts";
import { type Bmcs, fleetOf, passwordOf } from "./fleet.ts";
import { native } from "./native.ts";
import { loaded, type Scene, scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { rounds, takenOver, until } from "./taken-over.ts";
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

const NODE = caseUuid("node", 1);
const INSTANCE = caseUuid("instance", 1);

/** A running machine whose instance Nova deleted, a machine in use, and a free one. */
function fleet(bmcs: Bmcs): Case {
  const given = fleetOf(bmcs);
  const bmc = (at: number) => {
    return { pm_address: bmcs.addresses[at] ?? null, pm_password: passwordOf(at + 1) };
  };
  const instance = (id: number) => ({
    ...{ uuid: caseUuid("instance", id), power_state: bmcs.power(id - 1) ? 1 : 4 },
    ...(id === 1 && { deleted: 1, deleted_at: "2014-11-02 10:00:00", vm_state: "deleted" }),
  });
  const accept = acceptOf("N2I-D202", "N2I-D403", "N2I-D755");
  const set = { driver_info: { ipmi_cipher_suite: "3" } };
  return {
    ...given,
    nova_bm: { nodes: [tenant(1, bmc(0)), tenant(2, bmc(1)), { id: 3, ...bmc(2) }] },
    nova: { instances: [instance(1), instance(2)] },
    site: { ...SITE, machines: [...SITE.machines, { match: {}, accept, set }] },
  };
}

test("a machine whose instance nova deleted is adopted without it, in maintenance, and nothing is ever done to it", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const it = await scene(t, { ...ironic, url: proxy.url }, 3, { rest: true, fleet });
  await it.planned(0);
  const [planned] = it.plan();
  const row = planned?.records.find(({ resource }) => resource === "node")?.row;
  const is = [planned?.verdict, row?.maintenance, row?.instance_uuid ?? null, row?.provision_state];
  assert.deepEqual(is, ["create", true, null, "active"]);
  await it.runs(0, "apply", "--yes");
  await takenOver(it);
  await rounds(it, caseUuid("node", 2));
  await it.runs(0, "verify");
  const { body } = await it.api("GET", `/v1/nodes/${NODE}`);
  // The API's own form.
  const node = body as { readonly [field: string]: unknown };
  const held = { provision_state: "active", maintenance: true, instance_uuid: null };
  assert.deepEqual({ ...node, ...held, last_error: null, clean_step: {} }, node);
  assert.match(JSON.stringify(node.extra), new RegExp(`"instance_uuid": ?"${INSTANCE}"`));
  assert.deepEqual(it.sim.commands(), [], "what the BMCs were told");
  const second = `/v1/nodes/${caseUuid("node", 2)}`;
  const patch = (op: object) => it.api("PATCH", second, [{ path: "/extra/theirs", ...op }]);
  await patch({ op: "add", value: "x" });
  const shown = await it.runs(0, "rollback", "--all", "--plan", "-f", "csv", "-c", "Action");
  const actions = shown.out
    .match(/leave|remove/g)
    ?.toSorted()
    .join(" ");
  assert.equal(actions, "leave leave remove remove remove remove");
  await patch({ op: "remove" });
  await it.runs(0, "rollback", "--all", "--yes");
  assert.equal((await it.api("GET", `/v1/nodes/${NODE}`)).status, 404);
  assert.deepEqual(it.sim.commands(), [], "what the BMCs were told");
  // To manage and to adopt it; neither power nor any other state is asked for.
  const states = `PUT /v1/nodes/${NODE}/states`;
  const calls = proxy.calls().map(({ method, path }) => `${method} ${path}`);
  const asked = calls.filter((call) => call.startsWith(states));
  assert.deepEqual(asked, [`${states}/provision`, `${states}/provision`]);
});
