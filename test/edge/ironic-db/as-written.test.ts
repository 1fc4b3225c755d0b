import assert from "node:assert/strict";
import { test } from "node:test";
import { isTrue, type RawRow, text } from "../../../src/edge/database/rows.ts";
import { isWritten, readRows } from "../../../src/edge/ironic-db/current.ts";
import type { Hooks } from "../../../src/model/change.ts";
import { type Step, stepsOf } from "../../../src/model/plan.ts";
import { openPlan } from "../../../src/stages/run.ts";
import { fleet } from "../../support/fleet.ts";
import { planned, seal, targetOf, type Workplace, withCase } from "../../support/planned-case.ts";

const HOOKS: Hooks = {
  owned: () => false,
  ended: () => false,
  precondition: () => Promise.resolve(),
  observed: () => Promise.resolve(),
};

async function stepsAt(at: Workplace): Promise<readonly Step[]> {
  await planned(at);
  const steps: Step[] = [];
  for await (const lines of (await openPlan(`${at.run.path}/plan`)).lines())
    steps.push(...lines.flatMap(stepsOf));
  return steps;
}

test("a row is as it was written until any column of it, its owner or its traits are another's", async () => {
  await withCase(fleet(12), async (at) => {
    const { target, release } = await targetOf(at.ironic);
    const steps = await stepsAt(at);
    await target.perform(steps, HOOKS);
    const ironic = { database: at.ironic, release, seal };
    const uuids = (resource: Step["resource"]) =>
      steps.filter((step) => step.resource === resource).map(({ after }) => String(after?.uuid));
    const { knex } = at.ironic;
    const rows = await readRows(ironic, knex, uuids("node"), uuids("port"), false);
    const wanted = new Map(steps.map(({ id, after }) => [id, after]));
    let looks = 0;
    for (const [resource, table] of [
      ["node", rows.nodes],
      ["port", rows.ports],
    ] as const)
      for (const raw of table) {
        const want = wanted.get(`${resource}:${text(raw.uuid)}`) ?? null;
        const is = (one: RawRow): boolean => isWritten(ironic, resource, one, want);
        assert.equal(is(raw), true);
        assert.equal(is({ ...raw, traits: ["CUSTOM_ONE"] }), false);
        assert.equal(isWritten(ironic, resource, raw, { ...want, unheard: 1 }), false);
        for (const { name, type } of release[resource]) {
          if (name === "id" || name === "node_id") continue;
          const other = type === "boolean" ? !isTrue(raw[name]) : "another";
          assert.equal(is({ ...raw, [name]: other }), false, name);
          assert.equal(is({ ...raw, [name]: raw[name] === null ? 1 : null }), false, name);
          looks += 2;
        }
        if (resource === "port") assert.equal(is({ ...raw, node_uuid: "another" }), false);
      }
    assert.ok(looks >= 600, String(looks));
  });
});
