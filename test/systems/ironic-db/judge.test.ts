import assert from "node:assert/strict";
import { test } from "node:test";
import { type Step, stepsOf } from "../../../src/model/plan.ts";
import { fleet } from "../../support/fleet.ts";
import { planned, planOf, targetOf, type Workplace, withCase } from "../../support/planned-case.ts";
import { disturb } from "../../support/rich.ts";
import { applied } from "../../support/stages.ts";

const MACHINES = 12;

/** What a preview of the rollback says, batch by batch, and the statements by which it reads. */
async function judged({ ironic, run }: Workplace, batches: readonly (readonly Step[])[]) {
  const { header } = await planOf({ run });
  const { target } = await targetOf(ironic, header.target.release);
  const asked: { readonly sql: string; readonly bindings: readonly string[] }[] = [];
  const hear = (one: (typeof asked)[number]): void => void asked.push(one);
  ironic.knex.on("query", hear);
  const said = [];
  for (const steps of batches) said.push(await target.judge(steps));
  ironic.knex.off("query", hear);
  const walks: string[] = [];
  for (const { sql, bindings } of asked.filter((one) => /^SELECT/.test(one.sql))) {
    const how: readonly { detail: string }[] = await ironic.knex.raw(
      `EXPLAIN QUERY PLAN ${sql}`,
      bindings,
    );
    walks.push(...how.map(({ detail }) => detail).filter((detail) => /^SCAN p/.test(detail)));
  }
  return { left: said.flatMap(({ skipped: left }) => left), walks };
}

test("a preview of a rollback walks no table of ports for each batch, and sees what was added", async () => {
  await withCase(fleet(MACHINES), async (at) => {
    await planned(at);
    await applied(at);
    const steps: Step[] = [];
    for await (const lines of (await planOf(at)).lines())
      steps.push(...lines.flatMap((line) => stepsOf(line).map((step) => undone(step))));
    const half = steps.length / 2;
    const batches = [steps.slice(0, half), steps.slice(half)];
    // The table is read once, not for each batch.
    const once = ["SCAN ports"];
    assert.deepEqual(await judged(at, batches), { left: [], walks: once });
    const add = "INSERT INTO ports (uuid, address, node_id) SELECT ?, ?, max(id) FROM nodes";
    await disturb(at.ironic, add, ["added", "52:54:00:ff:ff:ff"]);
    const { left, walks } = await judged(at, batches);
    assert.deepEqual(walks, once);
    assert.ok(
      left.length > 0 && left.every(({ reason: why }) => why === "port added was added to it"),
    );
    await disturb(at.ironic, "CREATE INDEX own ON ports (node_id)", []);
    assert.deepEqual(await judged(at, batches), { left, walks: [] });
  });
});

function undone(step: Step): Step {
  return { ...step, before: step.after, after: null };
}
