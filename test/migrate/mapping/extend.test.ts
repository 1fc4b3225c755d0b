import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocuments } from "../../../src/migrate/mapping/mapping.ts";
import { createAjv } from "../../../src/model/json-schema/schemas.ts";
import { assertBroken, broken, documents, RELEASES } from "./broken.ts";

test("a target document that rests on none, on itself or on a broken one is told", () => {
  const given = documents();
  broken(given.targets[21]?.document, "/extends", "2025.1");
  broken(given.targets[22]?.document, "/extends", "havana");
  broken(given.targets[23]?.document, "/release", "juno");
  assertBroken(given, [
    /^mappings\/targets\/2025.1.json: \/extends 2025.1 goes round in a circle/,
    /^mappings\/targets\/2025.2.json: \/extends havana is no release of mappings\/targets/,
    /^mappings\/targets\/2026.1.json: \/release juno has another document/,
    /^mappings\/targets\/2026.1.json: \/extends havana is no release/,
  ]);
});

test("what a release is, whole, is checked too: half of a new driver is told", () => {
  const given = documents();
  broken(given.targets[22]?.document, "/drivers", { "virtual-power": { power_interface: "fake" } });
  assertBroken(
    given,
    ["2025.2", "2026.1"].map(
      (release) =>
        new RegExp(`^mappings/targets/${release}.json: /drivers/virtual-power lacks driver`),
    ),
  );
});

test("a release says what it changes, and keeps the rest of the one it extends", () => {
  const { targets } = checkDocuments(createAjv(), documents());
  const at = (name: string) => targets.find(({ release }) => release === name);
  assert.deepEqual(
    targets.map(({ release }) => release),
    RELEASES,
  );
  const zed = at("zed");
  assert.deepEqual(zed?.versions, { node: "1.36", port: "1.10", trait: "1.0" });
  assert.equal(zed?.keys.vif, "internal_info.tenant_vif_port_id");
  assert.equal(zed?.states.active?.maintenance, false);
  assert.deepEqual(zed?.drivers.iboot, null);
  assert.equal(zed?.drivers.ipmi?.deploy_interface, "direct");
  assert.equal(zed?.drivers.ipmi?.driver, "ipmi");
  assert.deepEqual(
    [at("juno")?.states.free, at("kilo")?.states.free],
    [
      { provision_state: null, maintenance: false },
      { provision_state: "available", maintenance: false },
    ],
  );
});

test("what a release leaves as it was is made once, not again for each that rests on it", () => {
  const given = documents();
  const { targets } = checkDocuments(createAjv(), given);
  for (const part of ["drivers", "states"] as const)
    assert.equal(
      new Set(targets.map((target) => target[part])).size,
      given.targets.filter(({ document }) => Object.hasOwn(document as object, part)).length,
      part,
    );
});
