import assert from "node:assert/strict";
import { test } from "node:test";
import { costOfDelete } from "../../src/stages/cost.ts";

const ports = (rows: number) => [{ table: "ports", column: "node_id", rows }];

test("the cost of a rollback grows with nodes times rows, and a small one is not told", () => {
  assert.equal(costOfDelete(5000, ports(10_000)), null);
  assert.match(costOfDelete(10_000, ports(20_000)) ?? "", /^Taking back 10000 nodes .* 20 s: /);
  const much = costOfDelete(100_000, [...ports(200_000), { table: "bios", column: "n", rows: 0 }]);
  assert.match(much ?? "", /about 33 minutes: .* \(ports\.node_id\)\./);
});
