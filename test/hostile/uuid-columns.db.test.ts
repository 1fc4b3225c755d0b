import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "./cli.ts";
import { deploy, extractAndPlan } from "./deployment.ts";
import { SITE, SMALL, tenant } from "./fleet.ts";

/** Columns that a conversion from MySQL makes of the type uuid. */
const COLUMNS = [
  ["bm_nodes", "uuid"],
  ["bm_nodes", "instance_uuid"],
  ["bm_interfaces", "vif_uuid"],
] as const;

test("on postgresql, columns of the type uuid are read as those of text", async (t) => {
  const nodes = [tenant(1), tenant(2), { ...tenant(3), deleted: true }];
  const made = await deploy("postgresql", t, { ...SMALL, nova_bm: { nodes }, site: SITE });
  const words = ["extract", ...made.at, ...made.source, "-q"];
  const snapshot = () =>
    readFileSync(join(made.run, "snapshot.jsonl"), "utf8").split("\n").slice(1, -2);
  await runs(0, words);
  const before = snapshot();
  for (const [table, column] of COLUMNS)
    await made.bm.db.raw(`ALTER TABLE ${table} ALTER ${column} TYPE uuid USING ${column}::uuid`);
  await runs(0, words);
  assert.deepEqual(snapshot(), before);
  await extractAndPlan(made);
});
