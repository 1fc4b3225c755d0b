import assert from "node:assert/strict";
import { test } from "node:test";
import { compareRow, sameSecret } from "../../../src/model/compare.ts";
import { type Step, stepsOf } from "../../../src/model/plan.ts";
import { openPlan } from "../../../src/run/run.ts";
import { isTrue, type RawRow, text } from "../../../src/systems/database/rows.ts";
import { isWritten, readRows, toNode, toPort } from "../../../src/systems/ironic-db/current.ts";
import { fleet } from "../../support/fleet.ts";
import { HOOKS } from "../../support/hooks.ts";
import { planned, seal, targetOf, type Workplace, withCase } from "../../support/planned-case.ts";

async function stepsAt(at: Workplace): Promise<readonly Step[]> {
  await planned(at);
  const steps: Step[] = [];
  for await (const lines of (await openPlan(`${at.run.path}/plan`)).lines())
    steps.push(...lines.flatMap(stepsOf));
  return steps;
}

/** The same JSON with other keys first, and blanks. */
function reordered(json: string): string {
  const entries = Object.entries(JSON.parse(json) as object).toReversed();
  return JSON.stringify(Object.fromEntries(entries), null, 1);
}

test("a row reads as planned until any column of it, a secret, its owner or its traits are another's", async () => {
  await withCase(fleet(12), async (at) => {
    const { target, release } = await targetOf(at.ironic);
    const steps = await stepsAt(at);
    await target.perform(steps, HOOKS);
    const ironic = { database: at.ironic, release, seal };
    const uuids = (resource: Step["resource"]) =>
      steps.filter((step) => step.resource === resource).map(({ after }) => String(after?.uuid));
    const rows = await readRows(ironic, uuids("node"), uuids("port"), false);
    const wanted = new Map(steps.map(({ id, after }) => [id, after]));
    let looks = 0;
    let secrets = 0;
    for (const [resource, table] of [
      ["node", rows.nodes],
      ["port", rows.ports],
    ] as const)
      for (const raw of table) {
        const want = wanted.get(`${resource}:${text(raw.uuid)}`) ?? null;
        const is = (one: RawRow): boolean => {
          const found = resource === "node" ? toNode(ironic, one) : toPort(ironic, one);
          const { differs, allowed: own } = compareRow(want ?? {}, found, sameSecret(seal));
          const isSame = isWritten(ironic, resource, one, want);
          if (isSame) assert.deepEqual([...differs, ...own], []);
          return isSame;
        };
        assert.equal(is(raw), true);
        assert.equal(is({ ...raw, traits: ["CUSTOM_ONE"] }), false);
        const clear = { password: "in clear" };
        const both = [
          { ...raw, extra: JSON.stringify(clear) },
          { ...want, extra: clear },
        ] as const;
        assert.equal(isWritten(ironic, resource, ...both), false);
        assert.equal(isWritten(ironic, resource, raw, { ...want, unheard: 1 }), false);
        for (const { name, type } of release[resource]) {
          if (name === "id" || name === "node_id") continue;
          const got = text(raw[name]);
          if (got?.startsWith("{") === true) {
            assert.equal(is({ ...raw, [name]: reordered(got) }), true, name);
            assert.equal(is({ ...raw, [name]: got.replace(/\}$/, ',"more":null}') }), false, name);
            assert.equal(is({ ...raw, [name]: got.replace("{", "{,") }), false, name);
            const spoilt = got.replace(/(password": *")/, "$1x");
            secrets += Number(spoilt !== got);
            assert.equal(is({ ...raw, [name]: spoilt }), spoilt === got, name);
          }
          const other = type === "boolean" ? !isTrue(raw[name]) : "another";
          assert.equal(is({ ...raw, [name]: other }), false, name);
          assert.equal(is({ ...raw, [name]: raw[name] === null ? 1 : null }), false, name);
          looks += 2;
        }
        if (resource === "port") assert.equal(is({ ...raw, node_uuid: "another" }), false);
      }
    assert.ok(looks >= 600 && secrets >= 6, `${looks} ${secrets}`);
  });
});
