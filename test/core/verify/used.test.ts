import assert from "node:assert/strict";
import { test } from "node:test";
import { isPortUsed, isUsed } from "../../../src/core/verify/used.ts";
import type { Row } from "../../../src/model/machine.ts";

const PLANNED: Row = {
  ...{ provision_state: "active", instance_uuid: "b-1", protected: true, name: "n" },
  ...{ provision_updated_at: "2014-06-01 12:00:00" },
};
const FREE: Row = { ...PLANNED, provision_state: "available", instance_uuid: null };
/** A row that a conductor has, and worked with since. */
const LATER: Row = { power_state: "power on", provision_updated_at: "2026-11-22 03:00:00" };

function used(planned: Row, more: Row): boolean {
  const found = { ...planned, ...LATER, ...more };
  const differs = Object.keys(found)
    .filter((field) => field !== "power_state" && found[field] !== planned[field])
    .map((field) => ({ field, planned: planned[field] ?? null, found: found[field] ?? null }));
  return isUsed(planned, found, differs);
}

test("what a tenant did with a machine explains its row, and nothing else does", () => {
  const cases: readonly (readonly [what: string, Row, Row, boolean])[] = [
    ["rebuilt", PLANNED, { "instance_info.image_source": "i-2", protected: false }, true],
    ["rebuilt now", PLANNED, { provision_state: "wait call-back" }, true],
    ["deleted", PLANNED, { provision_state: "available", instance_uuid: null }, true],
    ["being cleaned", PLANNED, { provision_state: "clean wait", instance_uuid: null }, true],
    ["deployed anew", PLANNED, { instance_uuid: "b-2", "instance_info.root_gb": "8" }, true],
    ["free on Juno", PLANNED, { provision_state: null, instance_uuid: null }, true],
    ["given to a tenant", FREE, { provision_state: "active", instance_uuid: "b-3" }, true],
    ["used and freed", FREE, {}, true],
    ["freed, then claimed", PLANNED, { provision_state: "available", instance_uuid: "b-2" }, true],
    ["an instance that is lost", PLANNED, { instance_uuid: null }, false],
    ["a free node that has its instance", PLANNED, { provision_state: "available" }, false],
    ["a failure", PLANNED, { provision_state: "deploy failed" }, false],
    ["another name", PLANNED, { name: "other" }, false],
    ["another BMC", PLANNED, { "driver_info.ipmi_address": "10.0.0.9" }, false],
    ["before", PLANNED, { provision_updated_at: "2013-01-01 00:00:00" }, false],
    ["no conductor", PLANNED, { power_state: null, instance_uuid: "b-2" }, false],
    ["no change of state", PLANNED, { ...PLANNED, "instance_info.image_source": "i-2" }, false],
  ];
  for (const [what, planned, more, wanted] of cases)
    assert.equal(used(planned, more), wanted, what);
  assert.equal(isUsed(PLANNED, { ...PLANNED, ...LATER }, []), false, "no difference");
});

test("a port of a used node differs by its VIF alone", () => {
  const of = (field: string) => [{ field, planned: null, found: "x" }];
  assert.ok(isPortUsed(of("extra.vif_port_id")));
  assert.ok(isPortUsed(of("internal_info.tenant_vif_port_id")));
  assert.ok(!isPortUsed(of("address")));
  assert.ok(!isPortUsed([]));
});
