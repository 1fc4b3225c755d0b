import assert from "node:assert/strict";
import { test } from "node:test";
import type { NovaStep } from "../../../src/model/nova-plan.ts";
import { uuidOf } from "../../hosts/cloud.ts";
import { engines } from "../../lab/engines.ts";
import { hostsTarget } from "./hosts-target.ts";

const HOOKS = {
  owned: () => true,
  precondition: () => Promise.resolve(),
  observed: () => Promise.resolve(),
};
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

    assert.equal((await perform(steps, HOOKS)).done.length, 3);
    assert.deepEqual(await deleted(), [1, 2, 3]);
    assert.equal(written, 1);
    await db("compute_nodes").where("id", 2).update({ deleted: 7 });
    const { done, left } = await perform(back, HOOKS);
    assert.deepEqual(done, ["compute_nodes:1", "compute_nodes:3"]);
    assert.deepEqual(left, [{ id: "compute_nodes:2", why: "was changed since in deleted" }]);
    assert.deepEqual(await deleted(), [0, 7, 0]);
    assert.equal(written, 2);
  });
