import assert from "node:assert/strict";
import { test } from "node:test";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { HOOKS } from "../../support/hooks.ts";
import { uuidOf } from "../../takeover/cloud.ts";
import { hostsTarget } from "./hosts-target.ts";

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
    const { hold } = at.target;
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
    assert.deepEqual(kept, { done: STEPS.map(({ id }) => id), found: [], left: [] });
    assert.deepEqual(await hosts(), now);
    await held.drop();
    assert.deepEqual(await hosts(), now);
  });

testOnce("what stands against keeping a held batch takes it back", async (t) => {
  const at = await hostsTarget("sqlite", 3, t);
  assert.ok(at);
  const { db } = at;
  const { hold } = at.target;
  const held = await hold(STEPS);
  const precondition = () => Promise.reject(new Error("the host reported"));
  await assert.rejects(
    held?.keep({ ...HOOKS, precondition }) ?? Promise.resolve(),
    /host reported/,
  );
  assert.equal((await db("instances").where({ host: "H1" })).length, 3);
});

testOnce("steps that insert, or that differ in what they change, are not held", async (t) => {
  const place = await hostsTarget("sqlite", 40, t);
  const { hold } = place.target;
  const insert = { ...instanceStep(4), before: null };
  assert.equal(await hold([...STEPS, insert]), null);
  const each = Array.from({ length: 40 }, (_, at) => {
    const step = instanceStep(at + 1);
    return { ...step, after: { ...step.after, host: `H${at}` } };
  });
  assert.equal(await hold(each), null);
  assert.equal((await place.db("instances").where({ host: "H1" })).length, 40);
});
