import assert from "node:assert/strict";
import { test } from "node:test";
import { MARK, type PortFacts, rejectionReasons } from "../../../src/manage/rules/criteria.ts";
import { requestFaults } from "../../../src/manage/rules/request.ts";
import type { NetworkPort, Nic, RunningNode } from "../../../src/model/ironic/manage.ts";

const MAC = "52:54:00:00:00:01";
const NIC: Nic = { is: "port", uuid: "p", address: MAC, vif: "v" };
const NODE: RunningNode = {
  ...{ uuid: "u", name: null, power_state: "power on", provision_state: "active" },
  ...{ instance_uuid: null, allocation_uuid: null, resource_class: "gold", retired: false },
  ...{ maintenance: false, maintenance_reason: null, last_error: "an old one" },
  ...{ properties: {}, instance_info: {}, extra: {}, created_at: null, nics: [NIC] },
};
const PORT: NetworkPort = { id: "v", mac_address: MAC, device_id: "", device_owner: "" };
const BESIDE: PortFacts = { ports: new Map([["v", PORT]]), duplicates: new Set() };

const FAILING: readonly (readonly [Partial<RunningNode>, string])[] = [
  [{ provision_state: "deploy failed" }, "it is deploy failed, not active"],
  [{ provision_state: null }, "it is in no state, not active"],
  [{ instance_uuid: "i" }, "it already has instance i"],
  [{ allocation_uuid: "a" }, "it has allocation a"],
  [{ resource_class: null }, "it has no resource class"],
  [{ maintenance: true }, "it is in maintenance"],
  [{ maintenance: true, maintenance_reason: "a fan" }, "it is in maintenance: a fan"],
  [{ retired: true }, "it is retired"],
  [{ extra: { [MARK]: "s" } }, `it is being managed: extra.${MARK} is s`],
  [{ nics: [{ ...NIC, vif: "w" }] }, "VIF w is not in Neutron"],
  [{ nics: [{ ...NIC, address: null }] }, `VIF v has MAC ${MAC}, but the node has none`],
];

test("each criterion is told by itself, and all that fail together", () => {
  assert.deepEqual(rejectionReasons(NODE, BESIDE), []);
  for (const [more, why] of FAILING)
    assert.deepEqual(rejectionReasons({ ...NODE, ...more }, BESIDE), [why]);
  const all = { ...NODE, provision_state: "available", retired: true, resource_class: null };
  const told = "it is available, not active; it has no resource class; it is retired";
  assert.equal(rejectionReasons(all, BESIDE).join("; "), told);
  const whole = { instance_uuid: "i", allocation_uuid: "i" };
  assert.deepEqual(rejectionReasons({ ...NODE, ...whole }, BESIDE), ["it already has instance i"]);
});

test("a card without a tenant's port needs no Neutron, and one bonded to another's MAC will do", () => {
  const bare = { ...NODE, nics: [{ ...NIC, vif: null }] };
  assert.deepEqual(rejectionReasons(bare, { ports: null, duplicates: new Set() }), []);
  const bond: Nic = { is: "portgroup", uuid: "g", address: null, vif: "v" };
  assert.deepEqual(rejectionReasons({ ...NODE, nics: [{ ...NIC, vif: null }, bond] }, BESIDE), []);
});

test("a port that some device has is that device's, unless it is the node", () => {
  const held = (device_id: string): PortFacts => ({
    ...BESIDE,
    ports: new Map([["v", { ...PORT, device_id, device_owner: "baremetal:none" }]]),
  });
  assert.deepEqual(rejectionReasons(NODE, held("u")), []);
  assert.deepEqual(rejectionReasons(NODE, held("x")), ["VIF v belongs to baremetal:none x"]);
  const twice = { ...BESIDE, duplicates: new Set(["v"]) };
  assert.deepEqual(rejectionReasons(NODE, twice), ["VIF v is attached to more than one port"]);
});

test("of a port that fails in several ways, each is told", () => {
  const twice = new Set(["v"]);
  const named = new Set<string>();
  const other = { ...PORT, mac_address: "52:54:00:00:00:02", device_id: "x" };
  const first = [
    "VIF v is attached to it, but not in the request",
    "VIF v is attached to more than one port",
  ];
  for (const [ports, why] of [
    [
      new Map([["v", other]]),
      [`VIF v has MAC 52:54:00:00:00:02, but the node has ${MAC}`, "VIF v belongs to device x"],
    ],
    [new Map<string, NetworkPort>(), ["VIF v is not in Neutron"]],
    [null, ["VIF v cannot be read: no endpoint of Neutron is known"]],
  ] as const)
    assert.deepEqual(rejectionReasons(NODE, { ports, duplicates: twice, selected: named }), [
      ...first,
      ...why,
    ]);
});

test("Nova takes a name that Ironic does not, and neither a control character", () => {
  const asked = { node: "n", description: null, availability_zone: null, metadata: {} };
  const called = (name: string) => ({ ...asked, name });
  assert.deepEqual(requestFaults(called("Web server \u00e9"), "nova"), []);
  assert.equal(requestFaults(called("Web server"), "allocation").length, 1);
  const odd = ["a\nb", "a\u001b[2Jb", "a\u200bb", "a\u2028b", " web", "web\u00a0"];
  for (const name of [...odd, " ", "", "x".repeat(256)])
    assert.equal(requestFaults(called(name), "nova").length, 1, JSON.stringify(name));
  for (const beyond of [
    called("web \u{1f600}"),
    { ...called("web"), description: "\u{1f680}" },
    { ...called("web"), metadata: { rack: "\u{10000}" } },
  ]) {
    const [fault = "", ...more] = requestFaults(beyond, "nova");
    const why =
      /^(name|description|metadata "rack"): Nova does not accept emoji or other characters bey/;
    assert.match(fault, why);
    assert.deepEqual(more, []);
  }
  const emoji = { ...called("web"), metadata: { rack: "\u{1f600}" } };
  assert.deepEqual(requestFaults(emoji, "allocation"), []);
  assert.deepEqual(requestFaults({ ...called("w\uffe6b"), description: "\uffe6" }, "nova"), []);
  // What Nova would refuse once the machine stands on fake hardware.
  const told = { ...called("web"), description: "two\nlines" };
  assert.equal(requestFaults(told, "nova").length, 1);
  assert.deepEqual(requestFaults(told, "allocation"), []);
});
