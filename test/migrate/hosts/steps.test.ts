import assert from "node:assert/strict";
import { test } from "node:test";
import { instanceStep } from "../../../src/migrate/hosts/rules/steps.ts";
import { invert } from "../../../src/model/change.ts";
import type { InstanceRow } from "../../../src/model/nova/nova-rows.ts";

const MADE = { uuid: "a-1", instance_uuid: "b-1" };
const ROW: InstanceRow = {
  ...{ id: 7, uuid: "B-1", host: "c-1", node: "A-1", task_state: null, deleted: 0 },
};
const step = (row: Partial<InstanceRow>, to = "metal") =>
  instanceStep("A-1", MADE, { ...ROW, ...row }, to);

test("a node that is spelled otherwise is written as Ironic spells it, and the step is its machine's as the plan names it", () => {
  const made = step({});
  assert.equal(made?.machine, "A-1");
  assert.equal(made?.after?.node, "a-1");
  assert.equal(made?.after?.host, "metal");
  assert.deepEqual(step({}, "c-1")?.after?.node, "a-1");
  assert.equal(step({ node: "a-1" }, "c-1"), null);
});

for (const node of [null, "1", "a-2"])
  test(`instances.node ${node} becomes the machine, and comes back`, () => {
    const made = step({ node }, "c-1");
    assert.ok(made);
    assert.equal(made.after?.node, "a-1");
    assert.equal(invert(made).after?.node, node);
  });

test("no step is made for what is deleted, is not there, or is no more the node's", () => {
  assert.equal(step({ deleted: 7 }), null);
  assert.equal(instanceStep("A-1", MADE, null, "metal"), null);
  for (const made of [
    { ...MADE, instance_uuid: null },
    { ...MADE, instance_uuid: "b-2" },
    undefined,
  ])
    assert.equal(instanceStep("A-1", made, ROW, "metal"), null);
});
