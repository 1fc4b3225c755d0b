import assert from "node:assert/strict";
import { test } from "node:test";
import { lentIndexes, slowDelete, worthAnIndex } from "../../../src/core/plan/delete-cost.ts";

const key = (rows: number, ours: boolean, table = "ports") => ({
  ...{ table, column: "node_id", rows, ours, index: `nova2ironic_${table}_node_id` },
});

test("the cost of a rollback grows with nodes times rows, and a small one is not said", () => {
  assert.equal(slowDelete(5000, [key(10_000, false)]), null);
  const some = slowDelete(10_000, [key(20_000, false)]);
  assert.match(some?.what ?? "", /^Taking back 10000 nodes .* 20 s: /);
  const much = slowDelete(100_000, [key(200_000, false), key(0, false, "bios_settings")]);
  assert.match(much?.what ?? "", /about 33 minutes: .* \(ports\.node_id\), and this user does not/);
  assert.match(
    much?.fix ?? "",
    / CREATE INDEX nova2ironic_ports_node_id ON ports \(node_id\); .* DROP INDEX nova2ironic_ports_node_id;$/,
  );
});

test("where the table is ours an index of ours is announced, and nobody else is asked for one", () => {
  const keys = [key(200_000, true), key(1, true, "volume_connectors")];
  assert.match(lentIndexes(100_000, keys) ?? "", /^Rollback makes an index on ports\.node_id and/);
  assert.equal(slowDelete(100_000, keys), null);
  assert.equal(lentIndexes(1_000, [key(9_000, true)]), null);
  assert.equal(worthAnIndex(1_000, [key(10_000, true)]).length, 1);
});
