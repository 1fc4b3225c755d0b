import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { capabilitiesOf } from "../../../src/lib/capabilities.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import type { IdenticalDoc, NodeDetail } from "../../../src/model/switchover.ts";
import { differences, differenceText, hardwareKey } from "../../../src/switchover/rules/spares.ts";
import { holds } from "../../support/seeded.ts";
import { MACHINE, SPARE, telling } from "./whole.ts";

const DOC = JSON.parse(readFileSync("mappings/identical.json", "utf8")) as IdenticalDoc;

const properties = (more: JsonObject): NodeDetail =>
  telling(SPARE, { properties: { ...objectOf(SPARE.body.properties), ...more } });

const INTERFACES = ["boot_interface", "storage_interface", "network_interface"];
const CAPABILITIES = "properties.capabilities";
const capable = (capabilities: string) => properties({ capabilities });
const twice = { ...SPARE, portgroups: [...SPARE.portgroups, ...SPARE.portgroups] };

/** A spare that differs in one thing, and how that is told. */
const DIFFERING: readonly (readonly [NodeDetail, string])[] = [
  ...["driver", "resource_class", ...INTERFACES].map((field) => {
    const text = `${field}: ${JSON.stringify(MACHINE.body[field])} != "other"`;
    return [telling(SPARE, { [field]: "other" }), text] as const;
  }),
  [telling(SPARE, { deploy_interface: null }), 'deploy_interface: "direct" != nothing'],
  [telling(SPARE, { conductor_group: "west" }), 'conductor_group: nothing != "west"'],
  [properties({ cpu_arch: "aarch64" }), 'properties.cpu_arch: "x86_64" != "aarch64"'],
  [properties({ cpus: "8" }), "properties.cpus: 16 != 8"],
  [properties({ memory_mb: 8192 }), "properties.memory_mb: 16384 != 8192"],
  [properties({ local_gb: "many" }), 'properties.local_gb: 100 != "many"'],
  [properties({ vendor: "other" }), 'properties.vendor: "acme" != "other"'],
  [capable("boot_mode:bios,iscsi_boot:True"), `${CAPABILITIES}.boot_mode: "uefi" != "bios"`],
  [capable("boot_mode:uefi,iscsi_boot:true,gpu:2"), `${CAPABILITIES}.gpu: nothing != "2"`],
  [telling(SPARE, { traits: ["CUSTOM_A"] }), "traits: [CUSTOM_A; CUSTOM_B] != [CUSTOM_A]"],
  [
    { ...SPARE, ports: [...SPARE.ports].map((port) => ({ ...port, in_portgroup: false })) },
    'ports: [pxe_enabled=false physical_network="two" is_smartnic=false in_portgroup=true; pxe_enabled=true physical_network="one" is_smartnic=false in_portgroup=false] != [pxe_enabled=false physical_network="two" is_smartnic=false in_portgroup=false; pxe_enabled=true physical_network="one" is_smartnic=false in_portgroup=false]',
  ],
  [twice, 'portgroups: [mode="802.3ad"] != [2 x mode="802.3ad"]'],
];

const told = (node: NodeDetail): readonly string[] =>
  differences(MACHINE, node, DOC).map(differenceText);

test("each field of the list is told by itself with both values, and all that differ together", () => {
  assert.deepEqual(told(SPARE), []);
  for (const [spare, text] of DIFFERING) assert.deepEqual(told(spare), [text]);
  assert.deepEqual(told(telling(properties({ cpus: 1, local_gb: null }), { driver: "redfish" })), [
    ...['driver: "ipmi" != "redfish"', "properties.cpus: 16 != 1"],
    "properties.local_gb: 100 != nothing",
  ]);
  // Nothing of the list is left out above, but for the owner, of whom below.
  const texts = DIFFERING.map(([, text]) => text);
  for (const { field } of DOC.fields)
    assert.ok(field === "owner" || texts.some((text) => text.startsWith(field)), field);
});

test("how something is written makes no difference", () => {
  const alike = [
    properties({ cpus: " 16", memory_mb: 16384, local_gb: "100.0" }),
    properties({ capabilities: "iscsi_boot:true, boot_mode:uefi,,node:7,boot_option:local" }),
    properties({ capabilities: { boot_mode: "uefi", iscsi_boot: true } }),
    telling(SPARE, { traits: ["CUSTOM_B", "CUSTOM_A", "CUSTOM_A"], conductor_group: null }),
    { ...SPARE, ports: SPARE.ports.toReversed() },
  ];
  for (const spare of alike) {
    assert.deepEqual(told(spare), []);
    assert.equal(hardwareKey(spare, DOC, "always"), hardwareKey(MACHINE, DOC, "always"));
  }
});

test("a vendor nobody asked for yet and an owner count only where both nodes have one", () => {
  assert.deepEqual(told(properties({ vendor: null })), []);
  assert.deepEqual(told(telling(SPARE, { owner: "a" })), []);
  const [one, other] = [telling(MACHINE, { owner: "b" }), telling(SPARE, { owner: "a" })];
  const found = differences(one, other, DOC);
  assert.deepEqual(found, [{ field: "owner", source: "b", destination: "a" }]);
});

test("no secret is told, however deep it stands, and a terminal is told nothing to act on", () => {
  const names = ["driver_info.ipmi_password", "driver_info.image", "extra.name"];
  const doc: IdenticalDoc = { fields: names.map((field) => ({ field, as: "text" })) };
  const one = telling(MACHINE, { driver_info: { ipmi_password: "s3cret" } });
  const other = telling(SPARE, {
    driver_info: { ipmi_password: "0ther", image: "http://me:s3cret@host/" },
    extra: { name: "\u001b[2J" },
  });
  assert.deepEqual(differences(one, other, doc).map(differenceText), [
    'driver_info.ipmi_password: "******" != "******"',
    'driver_info.image: nothing != "http://******@host/"',
    'extra.name: nothing != "\\u001b[2J"',
  ]);
});

test("nodes that are identical share their key, and the other way round", () => {
  const some = fc.record({
    cpus: fc.constantFrom(1, "1", 2, null),
    memory_mb: fc.constantFrom("1", 1, "x"),
    capabilities: fc.constantFrom("a:1,b:2", "b:2,a:1", "a:1", ""),
  });
  const strict: IdenticalDoc = { fields: DOC.fields.filter(({ when }) => when === undefined) };
  holds(100, some, some, (left, right) => {
    const [one, other] = [properties(left), properties(right)];
    const found = differences(one, other, strict);
    const [first, second] = [one, other].map((node) => hardwareKey(node, strict, "always"));
    assert.equal(found.length === 0, first === second);
    assert.deepEqual(
      differences(other, one, strict)
        .map(({ field, source, destination }) => `${field} ${destination} ${source}`)
        .toSorted(),
      found.map(({ field, source, destination }) => `${field} ${source} ${destination}`).toSorted(),
    );
  });
});

test("capabilities are read as Ironic reads them", () => {
  const read = (told: string): unknown => Object.fromEntries(capabilitiesOf(told));
  assert.deepEqual(read("a:b:c,d:FALSE"), { a: "b:c", d: "false" });
  assert.deepEqual(read(""), {});
});
