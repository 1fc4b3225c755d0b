import assert from "node:assert/strict";
import { test } from "node:test";
import { createShapes } from "../../../src/migrate/transform/shapes.ts";

const COLUMNS = ["uuid", "name", "driver"];

test("a row has its columns in the order they came in, whatever rows before it had", () => {
  const rowOf = createShapes(COLUMNS);
  const orders = [[0, 1, 2], [1, 0], [0, 1], [0, 2, 1], [], [0, 1, 2], [2, 0]];
  const rows = orders.map((order) => rowOf(["u", undefined, null], order));
  const values = { uuid: "u", name: null, driver: null };
  assert.deepEqual(
    rows.map((row) => JSON.stringify(row)),
    orders.map((order) => {
      const entries = order.map((at) => [COLUMNS[at], Object.values(values)[at]]);
      return JSON.stringify(Object.fromEntries(entries));
    }),
  );
});

test("a row that is changed changes no other", () => {
  const rowOf = createShapes(COLUMNS);
  const [one, other] = [rowOf(["a"], [0, 1]), rowOf(["b"], [0, 1])];
  one.name = "mine";
  assert.deepEqual(
    [one, other, rowOf(["c"], [0, 1])],
    [
      { uuid: "a", name: "mine" },
      { uuid: "b", name: null },
      { uuid: "c", name: null },
    ],
  );
});
