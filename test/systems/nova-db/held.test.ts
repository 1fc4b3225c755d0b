import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";
import { identifyNova } from "../../../src/systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../../src/systems/nova-db/target.ts";
import { engines, test } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { HOOKS } from "../../support/hooks.ts";
import { openedAt } from "../../support/opened.ts";
import { loadHosts, uuidOf } from "../../takeover/cloud.ts";

async function hostsTarget(engine: Engine, machines: number, t: TestContext) {
  const place = await withDatabase(engine, t);
  await loadHosts(place.db, engine, { machines, tenants: true });
  const database = await openedAt(place.url, t);
  return {
    db: place.db,
    database,
    target: createNovaTarget(database, await identifyNova(database)),
  };
}

function computeStep(id: number): NovaStep {
  const common = { hypervisor_hostname: uuidOf("node", id), deleted: 0, service_id: null };
  return {
    ...({ id: `compute_nodes:${id}`, part: "hosts", table: "compute_nodes", key: { id } } as const),
    before: { ...common, host: "H1" },
    after: { ...common, host: "H2" },
    ...{ machine: uuidOf("node", id), of: "" },
  };
}

function instanceStep(id: number): NovaStep {
  const common = { uuid: uuidOf("instance", id), node: uuidOf("node", id), deleted: 0 };
  return {
    ...({ id: `instances:${id}`, part: "hosts", table: "instances", key: { id } } as const),
    before: { ...common, host: "H1", task_state: null },
    after: { ...common, host: "H2", task_state: null },
    ...{ machine: uuidOf("node", id), of: "" },
  };
}

const STEPS = [1, 2, 3].flatMap((id) => [computeStep(id), instanceStep(id)]);

/** Changes of one row after which its batch is not written, and is looked at row by row. */
const CHANGES: readonly (readonly [what: string, table: string, row: object])[] = [
  ["another host", "compute_nodes", { host: "H3" }],
  ["its host in other letters", "compute_nodes", { host: "h1" }],
  [
    "its name in other letters",
    "compute_nodes",
    { hypervisor_hostname: uuidOf("node", 2).toUpperCase() },
  ],
  ["a service", "compute_nodes", { service_id: 1 }],
  ["its end", "compute_nodes", { deleted: 2 }],
  ["a request", "instances", { task_state: "powering-off" }],
  ["another node", "instances", { node: uuidOf("node", 3) }],
  ["what it is to be", "instances", { host: "H2" }],
];

for (const engine of engines())
  test(`on ${engine}, a batch that is held is nobody's until it is kept, and one with a changed row is not written`, async (t) => {
    const at = await hostsTarget(engine, 3, t);
    const { db } = at;
    const { writeUncommitted: hold } = at.target;
    const hosts = async () =>
      [
        ...(await db("compute_nodes").where("id", "<", 9).orderBy("id").select("host")),
        ...(await db("instances").orderBy("id").select("host")),
      ].map(({ host }) => String(host));
    const [old, now] = [Array(6).fill("H1"), Array(6).fill("H2")];

    const dropped = await hold(STEPS);
    assert.ok(dropped);
    assert.deepEqual(await hosts(), old);
    await dropped.drop();
    assert.deepEqual(await hosts(), old);

    for (const [what, table, row] of CHANGES) {
      const was = await db(table).where({ id: 2 }).first(Object.keys(row));
      await db(table).where({ id: 2 }).update(row);
      const changed = await hosts();
      assert.equal(await hold(STEPS), null, what);
      assert.deepEqual(await hosts(), changed, what);
      await db(table).where({ id: 2 }).update(was);
    }
    const twin = await db("compute_nodes").where({ id: 2 }).first();
    const other = { ...twin, id: 8, host: "H2", uuid: uuidOf("node", 8) };
    await db("compute_nodes").insert(other);
    assert.equal(await hold(STEPS), null, "a live row that has its host and node");
    await db("compute_nodes").where({ id: 8 }).delete();

    const held = await hold(STEPS);
    assert.ok(held);
    const kept = await held.keep(HOOKS);
    const ids = STEPS.map(({ id }) => id).toSorted();
    assert.deepEqual(
      { ...kept, done: kept.done.toSorted() },
      { done: ids, found: [], skipped: [] },
    );
    assert.deepEqual(await hosts(), now);
    await held.drop();
    assert.deepEqual(await hosts(), now);
  });

test("what stands against keeping a held batch takes it back", async (t) => {
  const at = await hostsTarget("sqlite", 3, t);
  assert.ok(at);
  const { db } = at;
  const { writeUncommitted: hold } = at.target;
  const held = await hold(STEPS);
  const precondition = () => Promise.reject(new Error("the host reported"));
  const keeping = held?.keep({ ...HOOKS, precondition }) ?? Promise.resolve();
  await assert.rejects(keeping, /host reported/);
  assert.equal((await db("instances").where({ host: "H1" })).length, 3);
});

const OURS = { ...HOOKS, owned: () => true };
const AT = "2026-11-27 04:00:00";

/** Deletes a compute node as Nova does: `deleted` is its own id. */
function deletion(id: number): NovaStep {
  return {
    ...({ id: `compute_nodes:${id}`, part: "hosts", table: "compute_nodes", key: { id } } as const),
    before: { deleted: 0, deleted_at: null },
    after: { deleted: id, deleted_at: AT },
    ...{ machine: uuidOf("node", id), of: "" },
  };
}

for (const engine of engines())
  test(`on ${engine}, rows that are deleted together, and come back, are one statement, and one with another id is left`, async (t) => {
    const at = await hostsTarget(engine, 3, t);
    const { db, database } = at;
    const { perform } = at.target;
    const deleted = async () =>
      (await db("compute_nodes").where("id", "<", 4).orderBy("id").select("deleted")).map((row) =>
        Number(row.deleted),
      );
    let written = 0;
    database.knex.on("query", ({ sql }: { readonly sql: string }) => {
      if (/^update\W+compute_nodes/i.test(sql)) written += 1;
    });
    const steps = [1, 2, 3].map(deletion);
    const back = steps.map((step) => ({ ...step, before: step.after, after: step.before }));

    assert.equal((await perform(steps, OURS)).done.length, 3);
    assert.deepEqual(await deleted(), [1, 2, 3]);
    assert.equal(written, 1);
    await db("compute_nodes").where("id", 2).update({ deleted: 7 });
    const { done, skipped: left } = await perform(back, OURS);
    assert.deepEqual(done, ["compute_nodes:1", "compute_nodes:3"]);
    assert.deepEqual(left, [{ id: "compute_nodes:2", reason: "has changed since in deleted" }]);
    assert.deepEqual(await deleted(), [0, 7, 0]);
    assert.equal(written, 2);
  });

function addition(flavor: number): NovaStep {
  const key = { instance_type_id: flavor, key: "resources:VCPU", deleted: 0 };
  return {
    ...({ part: "flavors", table: "instance_type_extra_specs", key } as const),
    ...{ id: `instance_type_extra_specs:${flavor}/resources:VCPU`, machine: null, of: "" },
    ...{ before: null, after: { ...key, value: "0", created_at: AT } },
  };
}

for (const engine of engines())
  test(`on ${engine}, extra specs that come together are added by one statement`, async (t) => {
    const { db, database, target } = await hostsTarget(engine, 1, t);
    const flavors = Array.from({ length: 40 }, (_, at) => at + 100);
    for (const id of flavors)
      await db("instance_types").insert({
        ...{ id, name: `f${id}`, flavorid: `f${id}`, memory_mb: 1, vcpus: 1, swap: 0 },
        ...{ rxtx_factor: 1, is_public: true, disabled: false, deleted: 0 },
      });
    const statements: string[] = [];
    database.knex.on("query", ({ sql }: { readonly sql: string }) => {
      if (/insert.*instance_type_extra_specs/i.test(sql)) statements.push(sql);
    });
    const steps = flavors.map(addition);
    assert.equal((await target.perform(steps, OURS)).done.length, 40);
    assert.equal(statements.length, 1);
    assert.equal((await target.perform(steps, OURS)).found.length, 40);
    assert.equal((await db("instance_type_extra_specs").where({ created_at: AT })).length, 40);
  });
