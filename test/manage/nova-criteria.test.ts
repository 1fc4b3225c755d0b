import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { imageFor, novaRejections } from "../../src/manage/rules/nova.ts";
import { nameOfZone, noZone, zoneFault } from "../../src/manage/rules/request.ts";
import { FAKE, notFake } from "../../src/model/ironic/fake-hardware.ts";
import { resourcesOf } from "../../src/systems/nova-api/server-state.ts";
import { macOf, uuidOf } from "./in-memory.ts";

type Of = Parameters<typeof novaRejections>[0];

const NODE = {
  ...{ uuid: uuidOf(1, 1), driver: "ipmi", power_state: "power on", resource_class: "gold" },
  ...{ conductor_group: "", network_interface: "flat", deploy_interface: "direct" },
  instance_info: { image_source: uuidOf(5, 1) },
};
const ASKED = { flavor: "bm", image: null, ports: null, cut: false, watch: 0 };
const PORT = { device_id: "", project_id: "p", mac_address: macOf(1), "binding:host_id": "" };
/** As Neutron tells it to whom it hides the binding from. */
const BLIND = { device_id: "", project_id: "p", mac_address: macOf(1) };

/** Of a flavor that asks for nothing else, and these extra specs. */
function needs(specs: JsonObject, sizes: JsonObject = {}) {
  return resourcesOf({ extra_specs: { "resources:CUSTOM_GOLD": "1", ...specs }, ...sizes });
}

const CONDUCTOR = { hostname: "c", group: "", alive: true, drivers: [FAKE, "ipmi"] };
const FIT: Of = {
  ...{ node: NODE, request: ASKED, hasVolumes: false, image: null, project: "p", unseen: [] },
  children: [],
  ...{ offered: new Map([["CUSTOM_GOLD", 1]]), required: needs({}), interfaces: null },
  conductors: [CONDUCTOR],
  ...{ addresses: [macOf(1)], ports: new Map([["v", PORT]]) },
};

const GIB = 2 ** 30;
const SIZES = { vcpus: 4, ram: 512, disk: 10, swap: "" };
const NO_SIZE = { "resources:MEMORY_MB": "0", "resources:DISK_GB": "0", "resources:VCPU": "0" };

/** Interfaces of fake hardware by their type, as Ironic tells those of all conductors. */
function enabled(of: Readonly<Record<string, string>>): Of["interfaces"] {
  return Object.entries(of).map(([type, name]) => ({ hostname: null, driver: FAKE, type, name }));
}

const node = (more: object): Of => ({ ...FIT, node: { ...NODE, ...more } });
/** What a flavor says of capabilities, and more of the node. */
const capable = (says: JsonObject, more: object): Of => ({
  ...node(more),
  required: needs(
    Object.fromEntries(Object.entries(says).map(([name, of]) => [`capabilities:${name}`, of])),
  ),
});
const BIOS = "supports_boot_mode:uefi,boot_mode:bios,secure_boot:true";
const supplied = (has_dedicated_power_supply: unknown) => ({
  driver_info: { has_dedicated_power_supply },
});
/** A flavor that has no size of its own, and these extra specs. */
const sized = (specs: JsonObject) => needs({ ...NO_SIZE, ...specs }, SIZES);
/** A node whose instance_info has something more. */
const informed = (more: object) => node({ instance_info: { ...NODE.instance_info, ...more } });
/** A node whose instance asks for capabilities. */
const asking = (capabilities: unknown) => ({
  instance_info: { ...NODE.instance_info, capabilities },
});
/** An image that fits, to the byte, but for what is said, and a flavor that has these sizes. */
const image = (more: object, sizes: JsonObject = SIZES): Of => ({
  ...{ ...FIT, required: needs(NO_SIZE, sizes) },
  image: { ...{ status: "active", size: 10 * GIB, min_ram: 512, min_disk: 10 }, ...more },
});
const port = (more: object): Of => ({ ...FIT, ports: new Map([["v", { ...PORT, ...more }]]) });

const CASES: readonly (readonly [Of, RegExp])[] = [
  [node({ console_enabled: true }), /its console is enabled/],
  [node({ driver: FAKE }), /its driver fake-hardware does not control hardware$/],
  [node({ power_state: null }), /does not know whether it is on/],
  [node({ target_power_state: "power off" }), /target_power_state is power off/],
  [{ ...FIT, unseen: ["firmware_interface"] }, /cannot be restored: firmware_interface/],
  [node({ fault: "power failure" }), /fault: power failure/],
  [node({ parent_node: "c" }), /parent is node c, which Ironic powers on first/],
  [node({ parent_node: "c", ...supplied(false) }), /parent is node c/],
  [{ ...FIT, children: ["a", "b"] }, /it has child nodes, .* powers off first.*: a, b/],
  [node({ disable_power_off: true, power_state: "power off" }), /disable_power_off prevents Nova/],
  [node({ conductor_group: "west" }), /not enabled on the conductors of its group/],
  [{ ...FIT, conductors: [{ ...CONDUCTOR, drivers: ["ipmi"] }] }, /not enabled on the conductors/],
  [{ ...FIT, hasVolumes: true }, /it has volumes/],
  [node({ properties: { capabilities: "a:b,boot_option:netboot" } }), /boots from the network/],
  [node({ deploy_interface: "ramdisk" }), /boots from the network/],
  [
    node({ driver_internal_info: { is_whole_disk_image: false, root_uuid_or_disk_id: "r" } }),
    /boots from the network/,
  ],
  [node({ network_interface: "neutron" }), /pass --accept-network-cut/],
  [informed({ configdrive: "******" }), /its instance_info has secrets/],
  [informed({ root_password: "x" }), /its instance_info has secrets/],
  [{ ...FIT, required: null }, /Nova has no flavor bm/],
  [
    { ...FIT, required: needs({ "resources:CUSTOM_GOLD": "2" }) },
    /request resources:CUSTOM_GOLD=1/,
  ],
  [{ ...FIT, offered: null }, /no nova-compute reports it/],
  [
    { ...FIT, required: needs({ "resources1:CUSTOM_FPGA": "1" }, { ...SIZES, swap: 1025 }) },
    /also requests resources:CUSTOM_FPGA=1, resources:VCPU=4, resources:MEMORY_MB=512, resources:DISK_GB=12, which .*: set resources:CUSTOM_FPGA=0, resources:VCPU=0/,
  ],
  [{ ...FIT, required: sized({ "resources:PCPU": "1" }) }, /also requests resources:PCPU=1, which/],
  [
    { ...node({ traits: [] }), required: needs({ "trait:CUSTOM_RAID": "required" }) },
    /has trait:CUSTOM_RAID=required, but the node's traits are none/,
  ],
  [
    { ...node({ traits: ["CUSTOM_X"] }), required: needs({ "trait:CUSTOM_X": "forbidden" }) },
    /has trait:CUSTOM_X=forbidden, but the node's traits are CUSTOM_X/,
  ],
  [
    capable({ boot_mode: "uefi" }, {}),
    /has capabilities:boot_mode=uefi,.* has boot_mode unknown: if the flavor is right, set the value in the node's properties.capabilities/,
  ],
  [
    capable({ boot_mode: "UEFI", secure_boot: "true" }, { properties: { capabilities: BIOS } }),
    /capabilities:boot_mode=UEFI, capabilities:secure_boot=true, which Ironic would set on the machine, but the node has boot_mode bios, secure_boot false$/,
  ],
  [
    capable({ secure_boot: "false" }, asking('{"secure_boot": "True"}')),
    /secure_boot=false, .* the node has secure_boot true$/,
  ],
  // What the machine could do, it does not do.
  [
    capable({ trusted_boot: "true" }, { properties: { capabilities: "trusted_boot:true" } }),
    /trusted_boot=true, .* the node has trusted_boot false$/,
  ],
  [
    capable({ secure_boot: "true" }, { properties: { capabilities: { secure_boot: "true" } } }),
    /secure_boot=true, .* the node has secure_boot false$/,
  ],
  [capable({ boot_option: "netboot" }, {}), /boot_option=netboot, .* has boot_option local$/],
  [{ ...FIT, interfaces: enabled({ network: "flat" }) }, /no network interface noop for fake/],
  [{ ...FIT, interfaces: enabled({ storage: "cinder" }) }, /no storage interface noop for fake/],
  [node({ instance_info: { image_source: "http://i/x" } }), /not an image id: pass --image/],
  [node({ instance_info: { image_source: "glance://x" } }), /not an image id: pass --image/],
  [{ ...FIT, image: "none" }, /Glance has no image .*: pass --image/],
  [image({ status: "deactivated" }), /image \S+ is deactivated in Glance: pass --image/],
  [image({ status: "queued", size: null, min_ram: 9999 }), /image \S+ is queued in Glance/],
  [image({ min_ram: 513 }), /image \S+ needs min_ram 513, flavor bm has 512$/],
  [image({ min_disk: 11 }), /image \S+ needs min_disk 11, flavor bm has 10$/],
  [image({ size: 10 * GIB + 1 }), /has 10737418241 bytes, flavor bm has a root disk of 10 GiB$/],
  [{ ...FIT, ports: new Map([["v", null]]) }, /port v is not in Neutron/],
  [port({ mac_address: macOf(2) }), /port v has MAC/],
  [port({ device_id: "x" }), /port v belongs to device x/],
  [port({ project_id: "q" }), /port v belongs to another project/],
  [
    { ...FIT, ports: new Map([["v", BLIND]]) },
    /binding:host_id of port v, which Nova clears, is not visible with these credentials: use administrator credentials/,
  ],
];

test("a machine that no server can be made of without a risk is refused, with why", () => {
  assert.deepEqual(novaRejections(FIT), []);
  assert.deepEqual(novaRejections(port({ device_id: NODE.uuid })), []);
  const trait = { required: sized({ "trait:HW_X": "required" }) };
  assert.deepEqual(novaRejections({ ...node({ traits: ["CUSTOM_X"] }), ...trait }), []);
  const old = new Map([...(FIT.offered ?? []), ["VCPU", 4], ["MEMORY_MB", 512], ["DISK_GB", 10]]);
  assert.deepEqual(novaRejections({ ...FIT, required: needs({}, SIZES), offered: old }), []);
  const interfaces = enabled({ network: "noop", storage: "noop" });
  assert.deepEqual(novaRejections({ ...FIT, interfaces }), []);
  for (const has of [true, "True"])
    assert.deepEqual(novaRejections(node({ parent_node: "c", ...supplied(has) })), []);
  assert.deepEqual(novaRejections(image({})), []);
  assert.deepEqual(novaRejections(image({ size: null, min_ram: 0, min_disk: 0 })), []);
  // Nova looks at no disk where the flavor says no size of it.
  const endless = { min_disk: 99, size: 99 * GIB };
  assert.deepEqual(novaRejections(image(endless, { ...SIZES, disk: 0 })), []);
  // Nothing tells one to be off that is on.
  assert.deepEqual(novaRejections(node({ disable_power_off: true })), []);
  const cut = { ...ASKED, cut: true };
  assert.deepEqual(novaRejections({ ...node({ network_interface: "neutron" }), request: cut }), []);
  for (const [of, why] of CASES) {
    const against = novaRejections(of);
    assert.equal(against.length, 1, `${String(why)}: ${against.join()}`);
    assert.match(against[0] ?? "", why);
  }
});

test("what a flavor says of capabilities stands against no machine that has them so, in whatever place", () => {
  const fits: readonly Of[] = [
    capable({ boot_mode: "bios" }, { properties: { capabilities: BIOS } }),
    capable({ boot_mode: "bios" }, asking({ boot_mode: "BIOS" })),
    capable({ boot_mode: "uefi" }, { boot_mode: "uefi" }),
    capable({ boot_mode: "uefi" }, { driver_internal_info: { deploy_boot_mode: "uefi" } }),
    capable({ secure_boot: "true" }, { secure_boot: true }),
    capable({ secure_boot: "true" }, asking({ secure_boot: "true" })),
    capable({ secure_boot: "false", trusted_boot: "False", boot_option: "local" }, {}),
    // Nova's scheduler alone makes something of it.
    capable({ profile: "compute", "cpu(vt": "true" }, {}),
  ];
  for (const fit of fits) assert.deepEqual(novaRejections(fit), []);
});

test("of each port that cannot be its server's, everything that stands against it is told", () => {
  const wrong = { device_id: "x", project_id: "q", mac_address: macOf(2) };
  const ports = new Map([
    ["v", wrong],
    ["w", null],
    ["x", { ...PORT, device_id: "y" }],
  ]);
  assert.deepEqual(novaRejections({ ...FIT, ports }), [
    `port v has MAC ${macOf(2)}, but the node has ${macOf(1)}`,
    "port v belongs to device x",
    "port v belongs to another project, and Nova would reject it",
    "binding:host_id of port v, which Nova clears, is not visible with these credentials: use administrator credentials",
    "port w is not in Neutron",
    "port x belongs to device y",
  ]);
});

test("only a driver and interfaces that do nothing are fake hardware", () => {
  const fake = { driver: FAKE, boot_interface: "fake", raid_interface: "no-raid" };
  assert.deepEqual(notFake({ ...fake, storage_interface: "noop" }), []);
  for (const other of ["flat", "ipxe", "fake2", "agent", null, ""])
    assert.deepEqual(notFake({ ...fake, network_interface: other }), [
      `network_interface is ${other}`,
    ]);
  assert.deepEqual(notFake({ ...fake, driver: "ipmi" }), ["driver is ipmi"]);
  assert.deepEqual(notFake({ driver: FAKE }), ["it has no interfaces"]);
});

test("a zone may name the machine, and no other", () => {
  const id = NODE.uuid;
  for (const fit of [null, "nova", `nova:bm-1:${id}`, `nova:bm-1:${id.toUpperCase()}`])
    assert.equal(zoneFault(fit, id), null);
  assert.match(zoneFault(`nova:bm-1:${uuidOf(1, 2)}`, id) ?? "", /has a node other than/);
  for (const wrong of [`nova::${id}`, "nova:bm-1", `a:b:${id}:c`])
    assert.match(zoneFault(wrong, id) ?? "", /neither ZONE nor ZONE:HOST:NODE/);
});

test("a zone that is meant by name is looked for among Nova's, whatever machine it names", () => {
  for (const fit of [null, "nova", "nova:bm-1:n", "", ":bm-1:n"])
    assert.equal(nameOfZone(fit), null);
  for (const named of ["az1", "az1:bm-1:n"]) assert.equal(nameOfZone(named), "az1");
  const zones = new Map([
    ["az1", true],
    ["az2", false],
  ]);
  assert.equal(noZone("az1", zones), null);
  assert.match(noZone("az2", zones) ?? "", /every nova-compute of .*_zone az2 is disabled/);
  assert.match(noZone("az3", zones) ?? "", /no availability_zone az3; it has az1, az2/);
  assert.match(noZone("az3", new Map()) ?? "", /no availability_zone az3; it has none/);
});

test("a server's image is the one that is asked for, or that its node names by its id", () => {
  const id = uuidOf(5, 2);
  for (const [image_source, image] of [
    [id.toUpperCase(), id],
    [`glance://${id}`, id],
    ["cirros", null],
    [`http://i/${id}`, null],
    [null, null],
  ] as const) {
    const { node } = FIT;
    const of = { node: { ...node, instance_info: { image_source } }, request: ASKED };
    assert.equal(imageFor(of), image);
    assert.equal(imageFor({ ...of, request: { ...ASKED, image: uuidOf(5, 9) } }), uuidOf(5, 9));
  }
});
