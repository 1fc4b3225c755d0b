import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_SITE, parseSite } from "../../../src/migrate/mapping/cross-check.ts";
import {
  checkDocuments,
  mappingFor,
  trustDocuments,
} from "../../../src/migrate/mapping/mapping.ts";
import { TRAIT } from "../../../src/migrate/mapping/record-schema.ts";
import { checkMappings, loadMappings } from "../../../src/migrate/open/documents.ts";
import { FINDINGS } from "../../../src/model/findings.ts";
import { createAjv } from "../../../src/model/json-schema/schemas.ts";
import type { Rule, Site } from "../../../src/model/mapping.ts";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import {
  after,
  assertBroken,
  assertFaults,
  broken,
  documents,
  faultsOf,
  RELEASES,
} from "./broken.ts";

test("the mapping documents of this package have no fault, and their schemas are schemas", () => {
  const given = documents();
  assert.deepEqual(
    faultsOf(() => checkDocuments(createAjv({ doubt: true }), given)),
    [],
  );
  assert.ok(createAjv({ doubt: true }).compile(given.schemas.site ?? {}));
  const wrong = { ...given.schemas, rules: { ...given.schemas.rules, required: "everything" } };
  assert.throws(
    () => checkDocuments(createAjv({ doubt: true }), { ...given, schemas: wrong }),
    /required must be array/,
  );
});

test("what the program trusts are the documents that the build checks", async () => {
  assert.deepEqual(trustDocuments(documents()), checkDocuments(createAjv(), documents()));
  const { sha256 } = await loadMappings();
  assert.ok((await checkMappings()).includes(sha256), "with the digest that a plan records");
});

test("every fault of every mapping document is told at once, with file and path", () => {
  const given = documents();
  broken(given.rules, "/node/0/to");
  broken(given.rules, "/port/0/from", "port");
  broken(given.drivers, "/drivers/0/credentials", "pm_address");
  broken(given.states, "/rows/0/outcome", "gone");
  broken(given.states, "/rows/1/mean", "a typing error");
  broken(given.targets[0]?.document, "/takeover", "maybe");
  assertBroken(given, [
    /^mappings\/rules.json: \/node\/0 lacks to$/,
    /^\/port\/0\/from does not have the form \^/,
    /^\/port\/0\/from must be a list/,
    /^\/port\/0\/from has none of the allowed forms/,
    /^mappings\/drivers.json: \/drivers\/0\/credentials must be a list/,
    /^mappings\/states.json: \/rows\/0\/outcome must be one of/,
    /^\/rows\/1\/mean is not a known field/,
    /^mappings\/targets\/juno.json: \/takeover must be one of/,
  ]);
});

test("mapping documents that do not fit each other are told, all at once", () => {
  const given = documents();
  broken(given.rules, "/node/0/missing", "N2I-D999");
  broken(given.drivers, "/drivers/0/rules/0/missing", "N2I-D998");
  broken(given.targets[5]?.document, "/drivers/tilera-2", { driver: "manual-management" });
  broken(given.hardware, "/types/redfish/releases", "icehouse");
  broken(given.states, "/rows/0/finding", "N2I-D997");
  // The document has just been read; its rows are a list.
  (given.states as { rows: unknown[] }).rows.pop();
  broken(given.heads, "/steps/mitaka/2", "f6fdb920c183");
  assertBroken(given, [
    /^mappings\/rules.json: \/node\/0\/missing N2I-D999 does not exist/,
    /^mappings\/drivers.json: \/drivers\/0\/rules\/0\/missing N2I-D998 does not exist/,
    /^mappings\/states.json: \/rows the last row must match every machine/,
    /^\/rows\/0\/finding N2I-D997 does not exist/,
    /^mappings\/heads.json: \/steps none ends with mitaka's f6fdb920c182/,
    /^mappings\/hardware.json: \/ icehouse is not a release in mappings\/targets/,
    ...after("ocata").map(
      (release) =>
        new RegExp(
          `^mappings/targets/${release}.json: /drivers tilera-2 is not a row in mappings/drivers.json$`,
        ),
    ),
  ]);
});

function site(rules: { readonly node?: readonly Rule[]; readonly port?: readonly Rule[] }): Site {
  return parseSite(validateSite, { format: "nova2ironic/site@1", rules }, "site.yaml");
}

const checked = checkDocuments(createAjv(), documents());
const validateSite = createAjv().compile(documents().schemas.site ?? {});

for (const release of RELEASES) {
  const { nodes, ports } = loadTables("ironic", release).tables;
  const columns = { node: nodes?.columns ?? [], port: ports?.columns ?? [] };
  const target = checked.targets.find((each) => each.release === release);

  test(`rules for what ${release} lacks are told with document and path, and those that fit are not`, () => {
    assert.ok(target !== undefined);
    assert.deepEqual(
      faultsOf(() => mappingFor(checked, target, columns, NO_SITE)),
      [],
    );
    const given = site({
      node: [
        { to: "rack", from: "bm_nodes.rack" },
        { to: "driver_info.$rack", from: "bm_nodes.rack" },
        { to: "extra.rack", from: "bm_nodes.rack" },
      ],
      port: [{ to: "$colour.x", from: "bm_interfaces.id" }],
    });
    const without = {
      ...checked,
      rules: { ...checked.rules, node: checked.rules.node.filter(({ to }) => to !== "uuid") },
    };
    const needed = columns.node.filter((column) => column.name === "uuid" && !column.null);
    assertFaults(
      faultsOf(() => mappingFor(without, target, columns, given)),
      [
        ...needed.map(() => /^mappings\/rules.json: \/node no rule sets uuid/),
        new RegExp(`^site.yaml: /rules/node/0/to rack is not a column of ${release}`),
        new RegExp(`^/rules/node/1/to \\$rack is not a key of ${release}`),
        new RegExp(`^/rules/port/0/to \\$colour is not a key of ${release}`),
      ],
    );
  });
}

test("a site rule that names a finding there is not is refused, not met later as a bug", () => {
  assertFaults(
    faultsOf(() =>
      site({ node: [{ to: "extra.rack", from: "bm_nodes.rack", missing: "N2I-D999" as never }] }),
    ),
    [/^site.yaml: \/rules\/node\/0\/missing N2I-D999 does not exist/],
  );
});

test("only findings with a safe way to load the machine may be accepted", () => {
  const accept = Object.entries(FINDINGS).map(([finding]) => ({ finding, reason: "seen" }));
  const document = { format: "nova2ironic/site@1", machines: [{ match: {}, accept }] };
  const refused = Object.entries(FINDINGS).filter(
    ([, kind]) => kind.severity === "blocks" && !("acceptable" in kind),
  );
  assertFaults(
    faultsOf(() => parseSite(validateSite, document, "site.yaml")),
    refused.map(([code]) => new RegExp(`${code} cannot be accepted`)),
  );
});

test("a trait is a custom name or has a namespace of os-traits", () => {
  const { site = {} } = documents().schemas;
  assert.ok(JSON.stringify(site).includes(JSON.stringify(TRAIT)), "one form on both roads");
  const faults = (trait: string): number => {
    const machines = [{ match: {}, set: { traits: [trait] } }];
    return faultsOf(() =>
      parseSite(validateSite, { format: "nova2ironic/site@1", machines }, "site"),
    ).length;
  };
  for (const good of ["CUSTOM_A", "CUSTOM_A__B_", "CUSTOM_1", "HW_CPU_X86_VMX", "STORAGE_DISK_SSD"])
    assert.equal(faults(good), 0, good);
  for (const bad of ["CUSTOM_", "CUSTOM_a", "RAM_FAST", "HW", "HW_", "HW__CPU", "hw_cpu", "FAST"])
    assert.equal(faults(bad), 1, bad);
});

test("a target document that rests on none, on itself or on a broken one is told", () => {
  const given = documents();
  broken(given.targets[21]?.document, "/extends", "2025.1");
  broken(given.targets[22]?.document, "/extends", "havana");
  broken(given.targets[23]?.document, "/release", "juno");
  assertBroken(given, [
    /^mappings\/targets\/2025.1.json: \/extends 2025.1 is a cycle/,
    /^mappings\/targets\/2025.2.json: \/extends havana is not a release in mappings\/targets/,
    /^mappings\/targets\/2026.1.json: \/release juno has another document/,
    /^mappings\/targets\/2026.1.json: \/extends havana is not a release/,
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
