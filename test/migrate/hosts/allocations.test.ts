import assert from "node:assert/strict";
import { test } from "node:test";
import { auditAllocations, heal } from "../../../src/migrate/hosts/rules/current-placement.ts";
import type { InstanceRow } from "../../../src/model/nova/nova-rows.ts";
import type { PlannedMachine, Verdict } from "../../../src/model/plan.ts";

/** A machine with an instance, as far as its allocation is looked at. */
function line(verdict: Verdict, instance_uuid: string | null): PlannedMachine {
  const row = { instance_uuid, resource_class: "bm.large" };
  const record = { resource: "node", id: "node:a", row, origins: [], change: "create" } as const;
  return {
    ...{ bm_node_id: 1, uuid: "A", service_host: "c-1", verdict, reason: null },
    ...{ state: { row: "", outcome: "" }, records: [record], findings: [] },
  };
}

const TABLE: readonly (readonly [PlannedMachine, allocated: boolean, deleted: 0 | 1, number])[] = [
  [line("create", "B"), true, 0, 0],
  [line("create", "B"), false, 0, 1],
  [line("unchanged", "B"), false, 0, 1],
  [line("create", "B"), false, 1, 0],
  [line("blocked", "B"), false, 0, 0],
  [line("create", null), false, 0, 0],
];

const TOLD = { machine: "A", instance: "b", resource_class: "CUSTOM_BM_LARGE" };

test("a live instance without an allocation is told, and nothing else is", async () => {
  for (const [machine, allocated, deleted, count] of TABLE) {
    const row: InstanceRow = {
      ...{ id: 1, uuid: "b", host: "c-1", node: "a", task_state: null, deleted },
    };
    const now = {
      instancesOf: () => Promise.resolve(new Map([["b", row]])),
      allocatedOf: () => Promise.resolve(new Set(allocated ? ["b"] : [])),
    };
    const told: object[] = [];
    for await (const one of auditAllocations([machine], now)) told.push(one);
    assert.deepEqual(told, count === 0 ? [] : [TOLD]);
  }
});

test("the repair is commands that can be typed, in the order that works", () => {
  assert.equal(
    heal(TOLD.machine, TOLD.resource_class),
    "stop nova-compute and wait for service_down_time (60 s); openstack resource provider inventory set A --amend --resource CUSTOM_BM_LARGE:reserved=0; nova-manage placement heal_allocations; start nova-compute",
  );
  assert.match(heal(), / set MACHINE --amend --resource CUSTOM_CLASS:reserved=0;/);
});
