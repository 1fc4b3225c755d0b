import assert from "node:assert/strict";
import { test } from "node:test";
import { translate } from "../../../src/systems/database/errors.ts";
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
