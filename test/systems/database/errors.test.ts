import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedLogin, translate } from "../../../src/systems/database/errors.ts";
import { BINDINGS, inPortions } from "../../../src/systems/database/rows.ts";
import { withDatabase } from "../../lab/index.ts";

test("a node of Percona XtraDB Cluster that refuses GET_LOCK is named", () => {
  const text = "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING";
  assert.match(translate(new Error(text), "locking", "db").message, /pxc_strict_mode to MASTER/);
});

test("a disk that is full is told as one", async (t) => {
  const { db } = await withDatabase("sqlite", t);
  await db.raw("CREATE TABLE large (text text)");
  await db.raw("PRAGMA max_page_count=4");
  const full = await db("large")
    .insert({ text: "x".repeat(100_000) })
    .catch((error: unknown) => translate(error, "copying", "sqlite:///copy"));
  assert.match(String(full), /copying: sqlite:.*copy has no free disk space: .*SQLITE_FULL/);
});

test("a list is cut into portions every server takes, in its order, with nothing lost", () => {
  for (const length of [0, 1, 20_000, 20_001, 66_000]) {
    const values = Array.from({ length }, (_, at) => at);
    const cut = [...inPortions(values, BINDINGS)];
    assert.deepEqual(cut.flat(), values);
    assert.ok(cut.every((some) => some.length <= 20_000 && some.length > 0));
  }
});

test("a statement PostgreSQL cannot take is not told as a server that does not answer", () => {
  const code = (sqlstate: string): string =>
    translate(Object.assign(new Error("x"), { code: sqlstate }), "reading", "db").code;
  assert.equal(code("08P01"), "N2I-E207");
  assert.equal(code("08006"), "N2I-E200");
  for (const lost of ["ER_UNKNOWN_COM_ERROR", "ER_ERROR_DURING_COMMIT"])
    assert.equal(code(lost), "N2I-E200");
});

test("a refused login speaks of no batch, and a deadlock names another run of this tool", () => {
  const refused = (code: string) => Object.assign(new Error("x"), { code });
  const login = refusedLogin(refused("ER_HOST_IS_BLOCKED"), "db");
  assert.equal(login.message, "connecting: db refuses the login (ER_HOST_IS_BLOCKED)");
  assert.doesNotMatch(`${login.reason} ${login.fix}`, /batch/);
  const deadlock = translate(refused("ER_LOCK_DEADLOCK"), "writing nodes", "db");
  assert.match(deadlock.message, /another run of this tool/);
});
