import assert from "node:assert/strict";
import { test } from "node:test";
import { createTextSet, index } from "../../src/model/rows.ts";

test("rows are found by a column in any case, in their order, and those without a value never", () => {
  const rows: { id: number; uuid: string | null }[] = [
    { id: 1, uuid: "Ab" },
    { id: 2, uuid: null },
    { id: 3, uuid: "aB" },
    { id: 4, uuid: "" },
  ];
  const found = (value: string | null) => index(rows, "uuid")(value).map(({ id }) => id);
  assert.deepEqual([found("AB"), found(null), found(""), found("c")], [[1, 3], [], [], []]);
  rows.push({ id: 5, uuid: "ab" });
  assert.deepEqual(found("ab"), [1, 3, 5]);
  assert.deepEqual(index(rows, "id")(4)[0]?.uuid, "");
});

test("a set of texts ignores case, and says whether a text is new", () => {
  const texts = createTextSet();
  assert.deepEqual(
    [texts.add("Ab"), texts.add("aB"), texts.has("AB"), texts.has("c")],
    [true, false, true, false],
  );
});
