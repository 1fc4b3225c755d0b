import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { listedNode, nodeView } from "../../../src/proxy/rules/nodes.ts";
import { holds } from "../../support/seeded.ts";
import { NODE } from "./asked.ts";

const properties = { cpus: 4, memory_mb: "4096", local_gb: 40 };
const OWN = { uuid: NODE, provision_state: "active", properties };
const TOLD = {
  ...{ id: NODE, interfaces: [], host: "IRONIC MANAGED", task_state: "active" },
  ...{ cpus: 4, memory_mb: "4096", disk_gb: 40 },
};

test("a node is told as Nova's proxy told it", () => {
  assert.deepEqual(listedNode(OWN), TOLD);
  assert.deepEqual(Object.keys(listedNode(OWN) ?? {}), Object.keys(TOLD));
  const address = "52:54:00:00:02:07";
  assert.deepEqual(nodeView({ ...OWN, instance_uuid: "i" }, [{ address, extra: {} }, {}, null]), {
    ...TOLD,
    interfaces: [{ address }],
    instance_uuid: "i",
  });
  assert.deepEqual(nodeView(OWN, [])?.instance_uuid, null);
});

test("a size that is missing or odd is 0, and a state that is null stays null", () => {
  const odd = { cpus: null, memory_mb: {}, local_gb: [1] };
  for (const properties of [undefined, null, [], "text", {}, odd, { cpus: true }]) {
    const told = listedNode({ uuid: NODE, provision_state: null, properties });
    assert.deepEqual(told, { ...TOLD, task_state: null, cpus: 0, memory_mb: 0, disk_gb: 0 });
  }
  for (const none of [null, [], "text", {}, { uuid: 1 }]) assert.equal(listedNode(none), null);
});

/** @source tempest 33, lib/api_schema/response/compute/v2_1/baremetal_nodes.py */
test("whatever a node is made of, what is told of it has tempest's form", () => {
  const property = fc.dictionary(fc.constantFrom("cpus", "memory_mb", "local_gb"), fc.jsonValue());
  const node = fc.record({
    uuid: fc.oneof(fc.string(), fc.jsonValue()),
    provision_state: fc.jsonValue(),
    properties: fc.oneof(property, fc.jsonValue()),
    instance_uuid: fc.jsonValue(),
  });
  holds(100, node, fc.array(fc.jsonValue()), (one, ports) => {
    const told = nodeView(one, ports);
    if (told === null) return assert.notEqual(typeof one.uuid, "string");
    const { interfaces, ...rest } = JSON.parse(JSON.stringify(told)) as typeof told;
    for (const { address } of interfaces) assert.equal(typeof address, "string");
    for (const size of [rest.cpus, rest.memory_mb, rest.disk_gb])
      assert.ok(typeof size === "string" || typeof size === "number");
    for (const text of [rest.task_state, rest.instance_uuid])
      assert.ok(text === null || typeof text === "string");
    assert.deepEqual(Object.keys(rest).sort(), [
      ...["cpus", "disk_gb", "host", "id", "instance_uuid", "memory_mb", "task_state"],
    ]);
  });
});
