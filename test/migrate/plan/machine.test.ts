import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMachine } from "../../../src/migrate/plan/rules/diff.ts";
import { renderLine } from "../../../src/migrate/plan/rules/summary.ts";
import { type Finding, finding } from "../../../src/model/finding.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const UUID = "a0000000-0000-4000-8000-000000000001";
const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: UUID, service_host: "compute-1", verdict: "create", reason: null },
  ...{ state: { row: "building", outcome: "deploy-failed" }, findings: [], records: [] },
};

test("with --all every planned value has an origin, and a NULL nobody gave says so", () => {
  const row = { uuid: UUID, name: null, extra: { nova_bm: { id: 1 } } };
  const record = { resource: "node", id: `node:${UUID}`, row, origins: [0, 1] } as const;
  const text = renderMachine(
    { ...MACHINE, records: [{ ...record, change: "create" }] },
    [
      ["uuid", "bm_nodes.uuid"],
      ["extra.nova_bm.id", "bm_nodes.id"],
    ],
    true,
  );
  const planned = text.split("\n").filter((line) => line.startsWith("+"));
  assert.deepEqual(
    planned.map((line) => line.slice(line.indexOf("<-"))),
    ["<- bm_nodes.uuid", "<- nothing gives it", "<- bm_nodes.id"],
  );
});

test("the summary names what was accepted of a machine, each code once, and no warning", () => {
  const accepted = (found: Finding): Finding => ({ ...found, accepted: "gone since May" });
  const findings = [
    accepted(finding("N2I-D100", "bm_nodes.id=1", "in flight")),
    accepted(finding("N2I-D201", "bm_nodes.id=1", "Nova has no such instance")),
    accepted(finding("N2I-D201", "bm_nodes.id=1", "once more")),
    accepted(finding("N2I-D305", "bm_nodes.id=1", "shared")),
    finding("N2I-D402", "bm_nodes.id=1", "nothing gives it"),
  ];
  assert.equal(
    renderLine({ ...MACHINE, findings }),
    `  + ${UUID}  create     deploy-failed 0 ports  accepted N2I-D100, N2I-D201`,
  );
  assert.equal(renderLine(MACHINE), `  + ${UUID}  create     deploy-failed 0 ports`);
});
