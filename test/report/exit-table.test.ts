import assert from "node:assert/strict";
import { test } from "node:test";
import { EXIT_STATUS } from "../../src/model/exit-status.ts";
import { exitTable } from "../support/manual-tables.ts";

test("the exit table has one Markdown row a status, in the order of the model", () => {
  const lines = exitTable().trimEnd().split("\n");
  assert.deepEqual(lines.slice(0, 3), [
    "| status | name | meaning |",
    "|---:|---|---|",
    "| 0 | done | done, nothing to do, or equal |",
  ]);
  assert.equal(lines.length, 2 + Object.keys(EXIT_STATUS).length);
  assert.ok(lines.every((line) => line.split(" | ").length <= 3));
});
