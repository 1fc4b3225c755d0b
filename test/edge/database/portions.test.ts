import assert from "node:assert/strict";
import { test } from "node:test";
import { translate } from "../../../src/edge/database/errors.ts";
import { portions } from "../../../src/edge/database/rows.ts";

test("a list is cut into portions every server takes, in its order, with nothing lost", () => {
  for (const length of [0, 1, 20_000, 20_001, 66_000]) {
    const values = Array.from({ length }, (_, at) => at);
    const cut = portions(values);
    assert.deepEqual(cut.flat(), values);
    assert.ok(cut.every((some) => some.length <= 20_000));
  }
});

test("a statement PostgreSQL cannot take is not told as a server that does not answer", () => {
  const code = (sqlstate: string): string =>
    translate(Object.assign(new Error("x"), { code: sqlstate }), "reading", "db").code;
  assert.equal(code("08P01"), "N2I-E207");
  assert.equal(code("08006"), "N2I-E200");
});
