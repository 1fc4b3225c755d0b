import assert from "node:assert/strict";
import { test } from "node:test";
import { isStepUsed } from "../../../src/migrate/verify/rules/used.ts";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";
import { rowStateOf } from "../../../src/systems/nova-db/find.ts";

const COMMON = { uuid: "b-1", deleted: 0, task_state: null, node: "a-1" };
const STEP: NovaStep = {
  ...{ id: "instances:17", part: "hosts", table: "instances", key: { id: 17 } },
  before: { ...COMMON, host: "old" },
  after: { ...COMMON, host: "new" },
  ...{ machine: "A-1", of: "instance b-1" },
};
const now = (more: object) =>
  rowStateOf({ step: STEP, row: { id: 17, ...COMMON, host: "new", ...more } });

test("a row of nova that is not as planned names the fields it differs in, and no others", () => {
  assert.equal(now({}).is, "after");
  assert.deepEqual(now({ deleted: 17 }).fields, ["deleted"]);
  assert.deepEqual(now({ host: "else", task_state: "deleting" }).fields, ["task_state", "host"]);
  assert.deepEqual(now({ host: "old" }).fields, ["host"]);
});

test("an instance that its machine has no more is explained by its end in Nova alone", () => {
  const used = (more: object | null, has: string | null | undefined) => {
    const state = more === null ? rowStateOf({ step: STEP, row: null }) : now(more);
    return isStepUsed(STEP, state, new Map(has === undefined ? [] : [["a-1", has]]));
  };
  assert.ok(used({ deleted: 17 }, "b-2"));
  assert.ok(used({ deleted: 17, host: null, node: null }, null));
  assert.ok(used(null, "b-2"), "archived");
  assert.ok(!used({ deleted: 17 }, "b-1"), "Ironic still has it");
  assert.ok(!used({ deleted: 17 }, undefined), "the machine was not used");
  assert.ok(!used({ host: "else" }, "b-2"), "it lives");
  assert.ok(!used({ host: "old" }, "b-2"), "it was never changed");
});
