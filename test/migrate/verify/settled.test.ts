import assert from "node:assert/strict";
import { test } from "node:test";
import { unsettled } from "../../../src/migrate/verify/rules/verify.ts";
import { STAGED } from "../../../src/model/handover.ts";
import type { Row } from "../../../src/model/machine.ts";

const PLANNED = { maintenance: false, power_state: null, last_error: null };
const SYNC = "During sync_power_state, max retries exceeded for node n1";

test("what hides a machine from Nova is told once Nova should have it", () => {
  const cases: readonly (readonly [Row, Row, readonly string[]])[] = [
    [PLANNED, { power_state: "power on" }, []],
    [PLANNED, { power_state: null }, ["power_state"]],
    // Its service does not tell of the power.
    [PLANNED, {}, []],
    [
      PLANNED,
      { maintenance: true, maintenance_reason: STAGED, power_state: null },
      ["maintenance", "power_state"],
    ],
    [
      PLANNED,
      { maintenance: true, fault: "power failure", power_state: "power on" },
      ["maintenance"],
    ],
    [{ ...PLANNED, maintenance: true }, { maintenance: true, power_state: null }, []],
    [PLANNED, { power_state: "power on", last_error: "no route" }, ["last_error"]],
    [PLANNED, { power_state: "power on", last_error: SYNC }, []],
    [PLANNED, { power_state: null, last_error: SYNC }, ["power_state", "last_error"]],
    [{ ...PLANNED, last_error: "old" }, { power_state: "power on", last_error: "old" }, []],
  ];
  for (const [planned, found, fields] of cases)
    assert.deepEqual(
      unsettled(planned, found).map(({ field }) => field),
      fields,
      JSON.stringify(found),
    );
});
