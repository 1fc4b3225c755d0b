import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../../../src/lib/json.ts";
import { addressFault, powerAddress } from "../../../../src/migrate/power/rules/address.ts";

const GOOD = [
  ...["10.0.0.9", "255.255.255.0", "127.20.0.1", "fe80::1%eth0", "2001:db8::9", "::1", "1::"],
  ...["::ffff:10.0.0.9", "2001:db8:0:0:0:0:0:9", "bmc-9", "bmc_9.rack.example.", "9bmc", "a.b9"],
];

const BAD = [
  ...["10.0.0.9 ", " 10.0.0.9", "10.0.0.9\n", "10.0.0.9\t", "10.0.0.9\u00a0", "10.0.0.9\u200b"],
  ...["10.0.0.9:623", "bmc-9:623", "bmc-9:", "[2001:db8::9]", "[2001:db8::9]:623", "[10.0.0.9]"],
  ...["300.300.300.300", "10.0.0.300", "10.0.0", "10.9", "167772169", "0x0a000009", "10.0.0.0x9"],
  ...["010.0.0.9", "10.0.0.9.1", "-v", "-10.0.0.9", "bmc-", "-bmc.example", "bmc..example", "."],
  ...["10.0.0.9,10.0.0.10", "10.0.0.9;10.0.0.10", "10.0.0.9 10.0.0.10", "10.0.0.9/24", "bmc 9"],
  ...["https://10.0.0.9", "//bmc", "1:2:3:4:5:6:7:8:9", "2001:db8::9::1", "2001:db8", "fe80::1%"],
  ...["::10.0.0.300", "bmc\u00e9", "b\u0000mc", "a".repeat(64), `${"a.".repeat(127)}aa`],
  ...["admin@bmc", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.9.9.9", "255.255.255.255", "::"],
  ...["ff02::1", "0:0:0:0:0:0:0:0"],
];

for (const text of GOOD)
  test(`${JSON.stringify(text)} can be a BMC's address`, () => {
    assert.equal(addressFault(text), null);
  });

for (const text of BAD)
  test(`${JSON.stringify(text.slice(0, 40))} cannot be a BMC's address`, () => {
    assert.match(String(addressFault(text)), / (contains|is|starts|begins) /);
  });

/** Each line is one BMC or outlet in several spellings; no two lines are the same. */
const PLACES: readonly (readonly JsonObject[])[] = [
  ["10.0.0.9", " 10.0.0.9"].map((ipmi_address) => ({ ipmi_address })),
  ["2001:db8::9", "2001:DB8:0:0:0:0:0:9"].map((ipmi_address) => ({ ipmi_address, ipmi_port: 623 })),
  ["fe80::1%eth0", "FE80:0::1%eth0"].map((ipmi_address) => ({ ipmi_address, ipmi_username: "a" })),
  [{ ipmi_address: "10.0.0.9", ipmi_target_channel: 7, ipmi_target_address: "0x24" }],
  [{ ipmi_address: "10.0.0.9", ipmi_target_channel: 7, ipmi_target_address: "0x26" }],
  [{ ipmi_address: "10.0.0.9", ipmi_port: 6230, ipmi_terminal_port: 9000 }],
  [{ iboot_address: "BOX.example." }, { iboot_address: "box.example", iboot_port: 9100 }],
  [{ iboot_address: "box.example", iboot_relay_id: 2 }],
  ["https://10.0.0.9", "10.0.0.9", "HTTPS://10.0.0.9:443/"].map((redfish_address) => ({
    redfish_address,
  })),
  [{ redfish_address: "https://10.0.0.9", redfish_system_id: "/redfish/v1/Systems/2" }],
  [{ ipmi_address: "10.0.0.10" }, { ipmi_address: "10.0.0.10", ipmi_port: "623" }],
  [{ iboot_address: "10.0.0.9" }, { iboot_address: "10.0.0.9", iboot_relay_id: 1 }],
  [{ snmp_address: "10.0.0.9" }, { snmp_address: "10.0.0.9", snmp_port: 161 }],
  [{ snmp_address: "10.0.0.9", snmp_outlet: 2 }],
];

test("spellings of one BMC or outlet are one place, and others are not", () => {
  const places = PLACES.map((spellings) => new Set(spellings.map(powerAddress)));
  assert.deepEqual(
    places.map(({ size }) => size),
    PLACES.map(() => 1),
  );
  assert.equal(new Set(places.flatMap((all) => [...all])).size, PLACES.length);
  for (const info of [
    {},
    { ssh_address: "10.0.0.9" },
    { wol_host: "10.0.0.255" },
    { ipmi_port: 1 },
    { server_hardware_uri: "/rest/server-hardware/AAA" },
  ])
    assert.equal(powerAddress(info), null);
});
