import assert from "node:assert/strict";
import { test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { findConductors } from "../../../src/migrate/apply/pre-write-check.ts";
import type { Conductor } from "../../../src/model/ironic/service.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const NODE: Row = {
  ...{ uuid: "a", driver: "ipmi", conductor_group: "rack-b", provision_state: "active" },
};
const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: "a", service_host: null, verdict: "create", reason: null },
  ...{ state: { row: "active", outcome: "active" }, findings: [] },
  records: [{ resource: "node", id: "node:a", row: NODE, origins: [], change: "create" }],
};
const LAB: Conductor = { hostname: "lab", group: "rack-b", alive: true, drivers: ["ipmi"] };

async function refusal(
  conductors: readonly Conductor[],
  nodes: readonly Row[] = [],
  engine: "rest" | "sqlite" = "rest",
): Promise<string | null> {
  const plan = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
    yield [MACHINE];
  };
  const look = findConductors(plan, {
    identity: { engine },
    service: () => Promise.resolve({ conductors, interfaces: null, reserved: [] }),
    current: () => Promise.resolve({ nodes, ports: [] }),
  });
  return look.then(
    () => null,
    (error: unknown) => (error instanceof MigrationError ? error.message : String(error)),
  );
}

test("a machine can be adopted by a living conductor of its group, or where groups are not told", async () => {
  assert.equal(await refusal([LAB]), null);
  assert.equal(await refusal([{ ...LAB, group: null }]), null);
  const told = /^no conductor is alive for ipmi of conductor group "rack-b" \(1 machine\)$/;
  assert.match((await refusal([])) ?? "", told);
  assert.match((await refusal([{ ...LAB, alive: false }])) ?? "", told);
  assert.match((await refusal([{ ...LAB, group: "" }])) ?? "", told);
  assert.match((await refusal([{ ...LAB, drivers: ["redfish"] }])) ?? "", told);
});

test("a machine that was adopted before, or is loaded into a database, needs no living conductor", async () => {
  assert.equal(await refusal([], [NODE]), null);
  assert.notEqual(await refusal([], [{ ...NODE, provision_state: "manageable" }]), null);
  assert.equal(await refusal([], [], "sqlite"), null);
});
