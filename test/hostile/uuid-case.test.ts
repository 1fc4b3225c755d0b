import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, caseUuid } from "../../src/demo/case.ts";
import { engines } from "../lab/engines.ts";
import { runs } from "./cli.ts";
import { deploy, extractAndPlan } from "./deployment.ts";
import { SITE } from "./fleet.ts";

const TWICE: Case = {
  shows: "two uuids that differ in case only",
  site: SITE,
  nova_bm: {
    nodes: [
      { id: 1, uuid: caseUuid("node", 10) },
      { id: 2, uuid: caseUuid("node", 10).toUpperCase() },
      { id: 3 },
    ],
  },
};

// MariaDB's own key refuses the second of them.
for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, uuids that differ in case only block both machines, and no other`, async (t) => {
    const made = await deploy(engine, t, TWICE);
    const { run } = made;
    await extractAndPlan(made);
    const columns = ["-c", "BM ID", "-c", "Verdict", "-c", "Findings"];
    const { out } = await runs(0, ["show", `${run}/plan`, "-f", "value", ...columns]);
    assert.deepEqual(out.trimEnd().split("\n"), [
      "1 blocked N2I-D016 N2I-D604",
      "2 blocked N2I-D016 N2I-D604",
      "3 create N2I-D604",
    ]);
  });
