import assert from "node:assert/strict";
import { test } from "node:test";
import { novaObjections, zoneFault } from "../../src/core/adoptable/nova.ts";
import { FAKE, notFake } from "../../src/model/fake-hardware.ts";
import { macOf, uuidOf } from "./in-memory.ts";

type Of = Parameters<typeof novaObjections>[0];

const NODE = {
  ...{ uuid: uuidOf(1, 1), driver: "ipmi", power_state: "power on", resource_class: "gold" },
  ...{ conductor_group: "", network_interface: "flat", deploy_interface: "direct" },
  instance_info: { image_source: uuidOf(5, 1) },
};
const ASKED = { flavor: "bm", image: null, ports: null, cut: false, watch: 0 };
const PORT = { device_id: "", project_id: "p", mac_address: macOf(1) };
const FIT: Of = {
  ...{ node: NODE, asked: ASKED, hasVolumes: false, offered: true, hasImage: true, project: "p" },
  ...{ specs: { "resources:CUSTOM_GOLD": "1" }, unseen: [] },
  conductors: [{ hostname: "c", group: "", alive: true, drivers: [FAKE, "ipmi"] }],
  ...{ addresses: [macOf(1)], ports: new Map([["v", PORT]]) },
};

const node = (more: object): Of => ({ ...FIT, node: { ...NODE, ...more } });
const port = (more: object): Of => ({ ...FIT, ports: new Map([["v", { ...PORT, ...more }]]) });

const CASES: readonly (readonly [Of, RegExp])[] = [
  [node({ console_enabled: true }), /its console is on/],
  [node({ driver: FAKE }), /no machine is behind it/],
  [node({ power_state: null }), /does not know whether it is on/],
  [node({ target_power_state: "power off" }), /target_power_state is power off/],
  [{ ...FIT, unseen: ["firmware_interface"] }, /cannot be given back: firmware_interface/],
  [node({ fault: "power failure" }), /fault: power failure/],
  [node({ conductor_group: "west" }), /not enabled on the conductors of its group/],
  [
    { ...FIT, conductors: [{ hostname: "c", group: "", alive: true, drivers: ["ipmi"] }] },
    /not enabled on the conductors/,
  ],
  [{ ...FIT, hasVolumes: true }, /it has volumes/],
  [node({ properties: { capabilities: "a:b,boot_option:netboot" } }), /boots from the network/],
  [node({ deploy_interface: "ramdisk" }), /boots from the network/],
  [
    node({ driver_internal_info: { is_whole_disk_image: false, root_uuid_or_disk_id: "r" } }),
    /boots from the network/,
  ],
  [node({ network_interface: "neutron" }), /give --accept-network-cut/],
  [
    node({ instance_info: { ...NODE.instance_info, configdrive: "******" } }),
    /its instance_info has secrets/,
  ],
  [
    node({ instance_info: { ...NODE.instance_info, root_password: "x" } }),
    /its instance_info has secrets/,
  ],
  [{ ...FIT, specs: null }, /Nova has no flavor bm/],
  [{ ...FIT, specs: { "resources:CUSTOM_TIN": "1" } }, /does not ask for resources:CUSTOM_GOLD=1/],
  [{ ...FIT, offered: false }, /no nova-compute has it/],
  [node({ instance_info: { image_source: "http://i/x" } }), /no image of Glance: give --image/],
  [{ ...FIT, hasImage: false }, /Glance has no image/],
  [{ ...FIT, ports: new Map([["v", null]]) }, /port v is not in Neutron/],
  [port({ mac_address: macOf(2) }), /port v has MAC/],
  [port({ device_id: "x" }), /port v belongs to device x/],
  [port({ project_id: "q" }), /port v belongs to another project/],
];

test("a machine that no server can be made of without a risk is refused, with why", () => {
  assert.deepEqual(novaObjections(FIT), []);
  assert.deepEqual(novaObjections(port({ device_id: NODE.uuid })), []);
  const cut = { ...ASKED, cut: true };
  assert.deepEqual(novaObjections({ ...node({ network_interface: "neutron" }), asked: cut }), []);
  for (const [of, why] of CASES) {
    const against = novaObjections(of);
    assert.equal(against.length, 1, `${String(why)}: ${against.join()}`);
    assert.match(against[0] ?? "", why);
  }
});

test("only a driver and interfaces that do nothing are fake hardware", () => {
  const fake = { driver: FAKE, boot_interface: "fake", raid_interface: "no-raid" };
  assert.deepEqual(notFake({ ...fake, storage_interface: "noop" }), []);
  for (const other of ["flat", "ipxe", "fake2", "agent", null, ""])
    assert.deepEqual(notFake({ ...fake, network_interface: other }), [
      `network_interface is ${String(other)}`,
    ]);
  assert.deepEqual(notFake({ ...fake, driver: "ipmi" }), ["driver is ipmi"]);
  assert.deepEqual(notFake({ driver: FAKE }), ["it tells no interfaces"]);
});

test("a zone may name the machine, and no other", () => {
  const id = NODE.uuid;
  for (const fit of [null, "nova", `nova:bm-1:${id}`, `nova:bm-1:${id.toUpperCase()}`])
    assert.equal(zoneFault(fit, id), null);
  assert.match(zoneFault(`nova:bm-1:${uuidOf(1, 2)}`, id) ?? "", /names another node than/);
  for (const wrong of [`nova::${id}`, "nova:bm-1", `a:b:${id}:c`])
    assert.match(zoneFault(wrong, id) ?? "", /neither ZONE nor ZONE:HOST:NODE/);
});
