import assert from "node:assert/strict";
import { test } from "node:test";
import { renderLine } from "../../../src/core/render/summary.ts";
import type { Finding } from "../../../src/model/finding.ts";
import { finding } from "../../../src/model/finding.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const UUID = "a0000000-0000-4000-8000-000000000001";

function line(findings: readonly Finding[]): string {
  const machine: PlannedMachine = {
    bm_node_id: 1,
    uuid: UUID,
    service_host: "compute-1",
    state: { row: "building", outcome: "deploy-failed" },
    verdict: "create",
    reason: null,
    findings,
    records: [],
  };
  return renderLine(machine);
}

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
    line(findings),
    `  + ${UUID}  create     deploy-failed 0 ports  accepted N2I-D100, N2I-D201`,
  );
  assert.equal(line([]), `  + ${UUID}  create     deploy-failed 0 ports`);
});
