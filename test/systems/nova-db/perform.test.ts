import assert from "node:assert/strict";
import { test } from "node:test";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";
import { engines } from "../../lab/engines.ts";
import { HOOKS } from "../../support/hooks.ts";
import { uuidOf } from "../../takeover/cloud.ts";
import { hostsTarget } from "./hosts-target.ts";

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
    const { done, left } = await perform(back, OURS);
    assert.deepEqual(done, ["compute_nodes:1", "compute_nodes:3"]);
    assert.deepEqual(left, [{ id: "compute_nodes:2", why: "was changed since in deleted" }]);
    assert.deepEqual(await deleted(), [0, 7, 0]);
    assert.equal(written, 2);
  });

/** Adds an extra spec to a flavor. */
function addition(flavor: number): NovaStep {
  const key = { instance_type_id: flavor, key: "resources:VCPU", deleted: 0 };
  return {
    ...({ part: "flavors", table: "instance_type_extra_specs", key } as const),
    ...{ id: `instance_type_extra_specs:${flavor}/resources:VCPU`, machine: null, of: "" },
    ...{ before: null, after: { ...key, value: "0", created_at: AT } },
  };
}

for (const engine of engines())
  test(`on ${engine}, extra specs that come together are looked for by one statement and added by one`, async (t) => {
    const { db, database, target } = await hostsTarget(engine, 1, t);
    const flavors = Array.from({ length: 40 }, (_, at) => at + 100);
    for (const id of flavors)
      await db("instance_types").insert({
        ...{ id, name: `f${id}`, flavorid: `f${id}`, memory_mb: 1, vcpus: 1, swap: 0 },
        ...{ rxtx_factor: 1, is_public: true, disabled: false, deleted: 0 },
      });
    const statements: string[] = [];
    database.knex.on("query", ({ sql }: { readonly sql: string }) => {
      if (/instance_type_extra_specs/.test(sql)) statements.push(sql.slice(0, 6).toLowerCase());
    });
    const steps = flavors.map(addition);
    assert.equal((await target.perform(steps, OURS)).done.length, 40);
    assert.deepEqual(statements, ["select", "insert"]);
    assert.equal((await target.perform(steps, OURS)).found.length, 40);
    assert.equal((await db("instance_type_extra_specs").where({ created_at: AT })).length, 40);
  });
