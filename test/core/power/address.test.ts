import assert from "node:assert/strict";
import { test } from "node:test";
import { addressFault } from "../../../src/core/power/address.ts";

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
  ...[
    "::10.0.0.300",
    "bmc\u00e9",
    "b\u0000mc",
    "a".repeat(64),
    `${"a.".repeat(127)}aa`,
    "admin@bmc",
  ],
  ...[
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.1",
    "239.9.9.9",
    "255.255.255.255",
    "::",
    "ff02::1",
    "0:0:0:0:0:0:0:0",
  ],
];

for (const text of GOOD)
  test(`${JSON.stringify(text)} can be a BMC's address`, () => {
    assert.equal(addressFault(text), null);
  });

for (const text of BAD)
  test(`${JSON.stringify(text.slice(0, 40))} cannot be a BMC's address`, () => {
    assert.match(String(addressFault(text)), / (has|is|begins) /);
  });
