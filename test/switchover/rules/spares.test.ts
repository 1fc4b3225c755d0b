import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { capabilitiesOf } from "../../../src/lib/capabilities.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import type { IdenticalDoc, NodeDetail, SwitchFault } from "../../../src/model/switchover.ts";
import { sourceFaults, spareFaults } from "../../../src/switchover/rules/capable.ts";
import {
  differences,
  gatherSpares,
  hardwareKey,
  nodeName,
  unlike,
} from "../../../src/switchover/rules/spares.ts";
import { holds } from "../../support/seeded.ts";
import { MACHINE, SPARE, telling } from "./whole.ts";

const DOC = JSON.parse(readFileSync("mappings/identical.json", "utf8")) as IdenticalDoc;

const [TARGET, CONNECTOR] = [MACHINE.targets[0], MACHINE.connectors[0]];
assert.ok(TARGET !== undefined && CONNECTOR !== undefined);
const capable = (capabilities: string): NodeDetail =>
  telling(MACHINE, { properties: { ...objectOf(MACHINE.body.properties), capabilities } });
const fibre = { targets: [{ ...TARGET, volume_type: "fibre_channel" }] };

type Refused = readonly [code: SwitchFault["code"], why: string, node: NodeDetail];

const locked = ({ uuid }: NodeDetail) =>
  `Node ${uuid} is locked by host lab, please retry after the current operation is completed.`;
const IN_SWITCHOVER = { extra: { nova2ironic_switchover: "s" } };
const MARKED = "it is in switchover s: extra.nova2ironic_switchover";
const source = (told: NodeDetail["body"]) => telling(MACHINE, told);
const another = (told: NodeDetail["body"]) => telling(SPARE, told);
const inState = (provision_state: string | null) => another({ provision_state });
const volumes = (...targets: NodeDetail["targets"]) => ({ ...MACHINE, targets });
const NO_WWPN = { ...capable("fibre_channel_boot:1"), ...fibre };
const NFS = { ...TARGET, boot_index: 1, volume_type: "nfs" };
const BROKEN_FAN = { maintenance: true, maintenance_reason: "a fan" };
const NOOP = { storage_interface: "noop" };
const WITH_CONNECTOR = { ...SPARE, connectors: [CONNECTOR] };
const DELETING = { target_provision_state: "deleted", target_power_state: "power off" };

/** What stands against a machine whose instance is to go on elsewhere, in the order it is answered. */
const SOURCES: readonly Refused[] = [
  ["N2I-E380", locked(MACHINE), source({ reservation: "lab" })],
  ["N2I-E380", "it is changing to deleted and power off", source(DELETING)],
  ["N2I-E381", MARKED, source(IN_SWITCHOVER)],
  ["N2I-E382", "its storage_interface is noop, not external", source(NOOP)],
  ["N2I-E382", "no volume has boot_index 0", volumes()],
  ["N2I-E382", "2 volumes have boot_index 0", volumes(TARGET, TARGET)],
  ["N2I-E382", "no volume has boot_index 0", volumes({ ...TARGET, boot_index: 1 })],
  ["N2I-E382", "volumes of type nfs are not moved", volumes(TARGET, NFS)],
  ["N2I-E382", "it lacks the capability iscsi_boot", capable("boot_mode:uefi")],
  ["N2I-E382", "it lacks the capability iscsi_boot", capable("iscsi_boot:False")],
  ["N2I-E382", "it has no volume connector of type wwpn", NO_WWPN],
  ["N2I-E382", "it has no volume connector of type iqn", { ...MACHINE, connectors: [] }],
  ["N2I-E383", "it is rescue, not active", source({ provision_state: "rescue" })],
  ["N2I-E383", "it is protected", source({ protected: true })],
];

/** What stands against a spare, whoever needs one. */
const SPARES: readonly Refused[] = [
  ["N2I-E380", locked(SPARE), another({ reservation: "lab" })],
  ["N2I-E381", MARKED, another(IN_SWITCHOVER)],
  ["N2I-E384", "it is available, not manageable or enroll", inState("available")],
  ["N2I-E384", "it is in no state, not manageable or enroll", inState(null)],
  ["N2I-E384", "it is in maintenance", another({ maintenance: true })],
  ["N2I-E384", "it is in maintenance: a fan", another(BROKEN_FAN)],
  ["N2I-E384", "it is retired", another({ retired: true })],
  ["N2I-E384", "it has instance i", another({ instance_uuid: "i" })],
  ["N2I-E384", "it has allocation a", another({ allocation_uuid: "a" })],
  ["N2I-E384", "it has 1 volume target", { ...SPARE, targets: [TARGET] }],
  ["N2I-E384", "it already has a volume connector of type iqn", WITH_CONNECTOR],
];

test("each thing that stands against a source or a spare is told by itself, with its code", () => {
  const held = (
    faultsOf: (node: NodeDetail) => readonly SwitchFault[],
    good: NodeDetail,
    rows: readonly Refused[],
  ): void => {
    assert.deepEqual(faultsOf(good), []);
    for (const [code, reason, node] of rows) assert.deepEqual(faultsOf(node), [{ code, reason }]);
  };
  held(sourceFaults, MACHINE, SOURCES);
  held(spareFaults, SPARE, SPARES);
  held(spareFaults, telling(SPARE, { provision_state: "enroll" }), []);
});

test("of several things the one that is answered first is told first", () => {
  const all = telling(
    { ...MACHINE, targets: [], connectors: [] },
    { provision_state: "rescue", reservation: "lab", protected: true },
  );
  const codes = sourceFaults(all).map(({ code }) => code);
  assert.deepEqual(codes, ["N2I-E380", "N2I-E382", "N2I-E383", "N2I-E383"]);
});

const spare = (name: string | null, uuid: string, told: NodeDetail["body"] = {}): NodeDetail => ({
  ...telling(SPARE, told),
  ...{ name, uuid },
});

test("spares are taken manageable before enroll, then by name, then by uuid, whatever order they came in", () => {
  const all = [
    spare("b", "2"),
    spare(null, "1"),
    spare("a", "3"),
    spare("a", "0", { provision_state: "enroll" }),
    spare("c", "4", { reservation: "looked at" }),
  ];
  for (const some of [all, all.toReversed()]) {
    const gathered = gatherSpares(DOC);
    gathered.machine(MACHINE);
    some.forEach(gathered.spare);
    const [only, ...more] = gathered.classes();
    assert.deepEqual(more, []);
    assert.deepEqual(only?.candidates.map(nodeName), ["a", "b", "c", "1", "a"]);
  }
});

test("machines are gathered by what they are made of, and each class is told what comes nearest", () => {
  const gathered = gatherSpares(DOC);
  const small = { properties: { ...objectOf(MACHINE.body.properties), cpus: 8 } };
  const wwpn = { uuid: "w", type: "wwpn", connector_id: "1" };
  gathered.machine(MACHINE);
  gathered.machine({ ...MACHINE, name: "n-2" });
  gathered.machine({ ...telling(MACHINE, small), name: "n-3" });
  gathered.machine({ ...MACHINE, name: "n-4", connectors: [CONNECTOR, wwpn] });
  gathered.machine({ ...telling(MACHINE, { owner: "a" }), name: "n-5" });
  // Of local disks, and one that no volume of a spare could start.
  gathered.machine({ ...MACHINE, targets: [] });
  gathered.machine({ ...MACHINE, name: "n-6", connectors: [] });
  gathered.spare(spare("s-1", "1", { owner: "b" }));
  gathered.spare(spare("s-2", "2", { driver: "other", resource_class: "other" }));
  gathered.spare(spare("s-3", "3", { retired: true, maintenance: true }));
  const rows = gathered
    .classes()
    .map(({ example, machines, candidates, nearest }) => [
      ...[example.name, machines, candidates.map(nodeName).join(" ")],
      nearest && `${nearest.spare.name}: ${nearest.reason}`,
    ]);
  assert.deepEqual(rows, [
    ["n-1", 2, "s-1", null],
    ["n-3", 1, "", "s-1: properties.cpus: 8 != 16"],
    ["n-4", 1, "", "s-1: volume connectors that stay: wwpn != none"],
    ["n-5", 1, "", 's-1: owner: "a" != "b"'],
  ]);
  const { incapable, unusable } = gathered;
  assert.deepEqual(incapable.slice(0, 9), ["n-6 (it has no volume connector of type iqn)"]);
  assert.deepEqual(unusable.slice(0, 9), ["s-3 (it is in maintenance; it is retired)"]);
});

const properties = (more: JsonObject): NodeDetail =>
  telling(SPARE, { properties: { ...objectOf(SPARE.body.properties), ...more } });

const INTERFACES = ["boot_interface", "storage_interface", "network_interface"];
const CAPABILITIES = "properties.capabilities";
const withCapabilities = (capabilities: string) => properties({ capabilities });
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
  [
    withCapabilities("boot_mode:bios,iscsi_boot:True"),
    `${CAPABILITIES}.boot_mode: "uefi" != "bios"`,
  ],
  [withCapabilities("boot_mode:uefi,iscsi_boot:true,gpu:2"), `${CAPABILITIES}.gpu: nothing != "2"`],
  [telling(SPARE, { traits: ["CUSTOM_A"] }), "traits: [CUSTOM_A; CUSTOM_B] != [CUSTOM_A]"],
  [
    { ...SPARE, ports: [...SPARE.ports].map((port) => ({ ...port, in_portgroup: false })) },
    'ports: [pxe_enabled=false physical_network="two" is_smartnic=false in_portgroup=true; pxe_enabled=true physical_network="one" is_smartnic=false in_portgroup=false] != [pxe_enabled=false physical_network="two" is_smartnic=false in_portgroup=false; pxe_enabled=true physical_network="one" is_smartnic=false in_portgroup=false]',
  ],
  [twice, 'portgroups: [mode="802.3ad"] != [2 x mode="802.3ad"]'],
];

const told = (node: NodeDetail): readonly string[] => unlike(MACHINE, node, DOC);

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
  assert.deepEqual(unlike(one, other, doc), [
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
