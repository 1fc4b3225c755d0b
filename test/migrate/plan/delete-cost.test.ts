import assert from "node:assert/strict";
import { test } from "node:test";
import { onceLoaded, slowDelete } from "../../../src/migrate/plan/rules/delete-cost.ts";

const key = (rows: number, table = "ports") => ({ table, column: "node_id", rows });

test("above 5,000 nodes a table without an index is named with the statements for its owner", () => {
  assert.equal(slowDelete(5000, [key(10_000)]), null);
  assert.equal(slowDelete(100_000, [key(5000)]), null);
  const slow = slowDelete(5001, [key(5001), key(0, "bios_settings")]);
  assert.match(slow?.what ?? "", /^Rolling back 5001 nodes .* \(ports\.node_id\)\.$/);
  assert.equal(
    slow?.fix,
    "before a rollback the owner of the tables runs: CREATE INDEX nova2ironic_ports_node_id ON ports (node_id); and afterwards: DROP INDEX nova2ironic_ports_node_id;",
  );
});

test("before a load the ports are those of the plan", () => {
  assert.deepEqual(onceLoaded([key(7), key(7, "allocations")], 9), [key(9), key(7, "allocations")]);
});
