import assert from "node:assert/strict";
import { test } from "node:test";
import { matching } from "../../../src/lib/table/match.ts";

const COLUMNS = ["BM ID", "UUID", "Service Host", "Instance UUID", "Findings"];
const ROWS = [
  [1, "u-1", "compute-1", null, "N2I-D600 N2I-D602"],
  [2, "u-2", "compute-2", "i-2", "N2I-D600"],
  [3, "u-3", "compute-2", "i-3", ""],
] as const;

function ids(...words: readonly string[]): readonly number[] {
  return ROWS.filter(matching(COLUMNS, words)).map(([id]) => id);
}

test("words of one column are alternatives, columns must all fit, and case does not matter", () => {
  assert.deepEqual(ids("Finding=D600", "Host=compute-2"), [2]);
  assert.deepEqual(ids("finding=n2i-d602", "FINDINGS=D600"), [1, 2]);
  assert.deepEqual(ids("service host=COMPUTE-2"), [2, 3]);
  assert.deepEqual(ids("Host=compute-*", "UUID=u-1", "UUID=u-3"), [1, 3]);
});

test("a cell without a value fits nothing, and a value is no pattern but for its stars", () => {
  assert.deepEqual(ids("Instance="), [1]);
  assert.deepEqual(ids("Instance=None"), [1]);
  assert.deepEqual(ids("Findings="), [3]);
  assert.deepEqual(ids("Host=compute.2"), []);
  assert.deepEqual(ids("Host=compute"), []);
});

test("an unknown column is refused with the nearest one", () => {
  for (const [word, fix] of [
    ["Findngs=D600", /^Did you mean Findings\? Choose from these columns: BM ID, /],
    ["colour=red", /^Choose from these columns: BM ID, UUID, /],
    ["Findings", /^Specify one of these columns: /],
  ] as const)
    assert.throws(() => matching(COLUMNS, [word]), { name: "MigrationError", fix });
});
