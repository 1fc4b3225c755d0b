import assert from "node:assert/strict";
import { test } from "node:test";
import { preflight } from "../../../src/migrate/plan/rules/preflight.ts";
import type { Transformed } from "../../../src/migrate/transform/transform.ts";
import type { EnabledInterface, Service } from "../../../src/model/ironic/service.ts";
import { reasonNoConductor } from "../../../src/window/handover/rules/successors.ts";

const deploy = (hostname: string | null, name: string): EnabledInterface => ({
  ...{ hostname, driver: "ipmi" },
  ...{ type: "deploy", name },
});

/** One that is dead, of the default group, and one of a rack. */
const service = (...interfaces: readonly EnabledInterface[]): Service => ({
  conductors: [
    { hostname: "old", group: "", alive: false, drivers: ["ipmi"] },
    { hostname: "rack", group: "rack7", alive: true, drivers: ["ipmi"] },
  ],
  ...{ interfaces, reserved: [] },
});

const row = { uuid: "u1", driver: "ipmi", conductor_group: "rack7", deploy_interface: "iscsi" };

test("an interface counts as enabled where a conductor that could take the machine has it", () => {
  const elsewhere = service(deploy("old", "iscsi"), deploy("rack", "direct"));
  const why = reasonNoConductor(elsewhere, row) ?? "";
  assert.match(why, /no live conductor in group "rack7" enables deploy_interface iscsi/);
  assert.equal(reasonNoConductor(service(deploy("rack", "iscsi")), row), null);
  assert.equal(reasonNoConductor(service(deploy(null, "iscsi")), row), null);
});

test("plan blocks a machine whose interface only a conductor of another group enables", () => {
  const codes = (...interfaces: readonly EnabledInterface[]) => {
    const desired = [{ id: "node:u1", resource: "node", row }];
    // As much of a machine as is looked at.
    const machine = { desired, findings: [] } as unknown as Transformed;
    const { findings } = preflight(service(...interfaces), false).machine(machine);
    return findings.map(({ code }) => code);
  };
  assert.deepEqual(codes(deploy("old", "iscsi"), deploy("rack", "direct")), ["N2I-D421"]);
  assert.deepEqual(codes(deploy("old", "direct"), deploy("rack", "iscsi")), []);
});
