import assert from "node:assert/strict";
import { test } from "node:test";
import { compareRow } from "../../src/model/compare.ts";
import type { Row } from "../../src/model/machine.ts";

const PLANNED: Row = {
  uuid: "u1",
  maintenance: false,
  maintenance_reason: null,
  deploy_interface: null,
};

const told = (found: Row) => {
  const { differs, own } = compareRow(PLANNED, { ...PLANNED, ...found }, () => false);
  const names = (changes: typeof own) => changes.map(({ field }) => field);
  return { differs: names(differs), own: names(own) };
};

test("an interface nobody named is the conductor's to fill in, in the plan or not", () => {
  assert.deepEqual(told({ deploy_interface: "direct", firmware_interface: "no-firmware" }), {
    differs: [],
    own: ["deploy_interface", "firmware_interface"],
  });
});

test("maintenance is the conductor's own where its fault says that it could not read the power", () => {
  const given = { maintenance: true, maintenance_reason: "max retries exceeded" };
  const fields = ["maintenance", "maintenance_reason", "fault"];
  assert.deepEqual(told({ ...given, fault: "power failure" }), { differs: [], own: fields });
  assert.deepEqual(told({ ...given, fault: "clean failure" }), { differs: fields, own: [] });
});

test("a machine in use that is guarded less than it was loaded is the same machine, and no other change is", () => {
  const planned = {
    ...PLANNED,
    ...{ protected: true, protected_reason: "ours", automated_clean: false },
  };
  const differing = (found: Row): readonly string[] =>
    compareRow(planned, { ...planned, ...found }, () => false).differs.map(({ field }) => field);
  assert.deepEqual(differing({ protected: false, protected_reason: null }), []);
  assert.deepEqual(differing({ protected: false }), []);
  assert.deepEqual(differing({ automated_clean: null }), []);
  assert.deepEqual(differing({ automated_clean: true }), ["automated_clean"]);
  assert.deepEqual(differing({ protected_reason: "another" }), ["protected_reason"]);
  assert.deepEqual(differing({ protected_reason: null }), ["protected_reason"]);
  assert.deepEqual(differing({ protected: false, protected_reason: "another" }), [
    "protected_reason",
  ]);
});
