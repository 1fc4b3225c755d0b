import assert from "node:assert/strict";
import { test } from "node:test";
import { costOfDelete, worthAnIndex } from "../../src/stages/cost.ts";

const key = (rows: number, ours: boolean, table = "ports") => ({
  ...{ table, column: "node_id", rows, ours, index: `nova2ironic_${table}_node_id` },
});

test("the cost of a rollback grows with nodes times rows, and a small one is not told", () => {
  assert.equal(costOfDelete(5000, [key(10_000, false)]), null);
  assert.match(
    costOfDelete(10_000, [key(20_000, false)]) ?? "",
    /^Taking back 10000 nodes .* 20 s: /,
  );
  const much = costOfDelete(100_000, [key(200_000, false), key(0, false, "bios_settings")]);
  assert.match(much ?? "", /about 33 minutes: .* \(ports\.node_id\), and this user may not/);
  assert.match(
    much ?? "",
    / CREATE INDEX nova2ironic_ports_node_id ON ports \(node_id\); .* DROP INDEX nova2ironic_ports_node_id;$/,
  );
});

test("where the table is ours an index of ours is announced, and no statement for others", () => {
  const text = costOfDelete(100_000, [key(200_000, true), key(1, true, "volume_connectors")]);
  assert.match(text ?? "", /^Rollback makes an index on ports\.node_id first, and drops it/);
  assert.doesNotMatch(text ?? "", /CREATE|minutes/);
  assert.deepEqual(worthAnIndex(1_000, [key(9_000, true)]), []);
  assert.equal(worthAnIndex(1_000, [key(10_000, true)]).length, 1);
});
