import assert from "node:assert/strict";
import { test } from "node:test";
import { isByUse, isPortUsed, useOf } from "../../../src/migrate/verify/rules/used.ts";
import type { Row } from "../../../src/model/machine.ts";

const PLANNED: Row = {
  ...{ provision_state: "active", instance_uuid: "b-1", protected: true, name: "n" },
  ...{ provision_updated_at: "2014-06-01 12:00:00" },
};
const FREE: Row = { ...PLANNED, provision_state: "available", instance_uuid: null };
/** A row that a conductor has, and worked with since. */
const LATER: Row = { power_state: "power on", provision_updated_at: "2026-11-22 03:00:00" };

/** What explains the row; of a machine that was used, the fields that its use does not explain. */
function used(planned: Row, more: Row): string | null {
  const found = { ...planned, ...LATER, ...more };
  const differs = Object.keys(found)
    .filter((field) => field !== "power_state" && found[field] !== planned[field])
    .map((field) => ({ field, planned: planned[field] ?? null, found: found[field] ?? null }));
  const others = differs.flatMap(({ field }) => (isByUse(planned, field) ? [] : [field]));
  const use = useOf(planned, found, differs);
  return use === "used" && others.length > 0 ? others.join() : use;
}

test("what a tenant did with a machine explains its row, and nothing else does", () => {
  const cases: readonly (readonly [what: string, Row, Row, string | null])[] = [
    ["rebuilt", PLANNED, { "instance_info.image_source": "i-2", protected: false }, "used"],
    ["rebuilt now", PLANNED, { provision_state: "wait call-back" }, "used"],
    ["deleted", PLANNED, { provision_state: "available", instance_uuid: null }, "used"],
    ["being cleaned", PLANNED, { provision_state: "clean wait", instance_uuid: null }, "used"],
    ["deployed anew", PLANNED, { instance_uuid: "b-2", "instance_info.root_gb": "8" }, "used"],
    ["free on Juno", PLANNED, { provision_state: null, instance_uuid: null }, "used"],
    ["given to a tenant", FREE, { provision_state: "active", instance_uuid: "b-3" }, "used"],
    ["used and freed", FREE, {}, "used"],
    [
      "freed, then claimed",
      PLANNED,
      { provision_state: "available", instance_uuid: "b-2" },
      "used",
    ],
    [
      "deleted after its deploy_interface was set back",
      { ...PLANNED, deploy_interface: "ramdisk" },
      { provision_state: "available", instance_uuid: null, deploy_interface: "direct" },
      "used",
    ],
    [
      "deleted, and given an interface that nobody has to set",
      { ...PLANNED, deploy_interface: "direct" },
      { provision_state: "available", instance_uuid: null, deploy_interface: "ramdisk" },
      "deploy_interface",
    ],
    [
      "only its deploy_interface set back",
      { ...PLANNED, deploy_interface: "ramdisk" },
      { ...PLANNED, deploy_interface: "direct" },
      null,
    ],
    ["an instance that is lost", PLANNED, { instance_uuid: null }, null],
    ["being freed", PLANNED, { provision_state: "available" }, "moving"],
    ["being torn down", PLANNED, { provision_state: "deleting", instance_uuid: null }, "moving"],
    [
      "being claimed",
      { ...FREE, provision_updated_at: null },
      { instance_uuid: "b-3", provision_updated_at: null },
      "moving",
    ],
    ["a failure", PLANNED, { provision_state: "deploy failed" }, null],
    ["another name", PLANNED, { name: "other" }, "name"],
    [
      "deleted, and given to another BMC",
      PLANNED,
      { provision_state: "available", instance_uuid: null, "driver_info.ipmi_address": "10.0.0.9" },
      "driver_info.ipmi_address",
    ],
    ["before", PLANNED, { provision_updated_at: "2013-01-01 00:00:00" }, null],
    ["no conductor", PLANNED, { power_state: null, instance_uuid: "b-2" }, null],
    ["no change of state", PLANNED, { ...PLANNED, "instance_info.image_source": "i-2" }, null],
  ];
  for (const [what, planned, more, wanted] of cases)
    assert.equal(used(planned, more), wanted, what);
  assert.equal(useOf(PLANNED, { ...PLANNED, ...LATER }, []), null, "no difference");
});

test("a port of a used node differs by its VIF alone", () => {
  const of = (field: string) => [{ field, planned: null, found: "x" }];
  assert.ok(isPortUsed(of("extra.vif_port_id")));
  assert.ok(isPortUsed(of("internal_info.tenant_vif_port_id")));
  assert.ok(!isPortUsed(of("address")));
  assert.ok(!isPortUsed([]));
});
