import assert from "node:assert/strict";
import { test } from "node:test";
import type { VirtualPower } from "../../../src/model/machine.ts";
import type { PowerVerdict } from "../../../src/model/power.ts";
import { machine, otherHost } from "./other-host.ts";

const CASES: readonly (readonly [string, Partial<VirtualPower>, PowerVerdict, RegExp])[] = [
  ["no host", { virtual_power_ssh_host: null }, "virtual", /ssh_host is not set/],
  ["an empty host", { virtual_power_ssh_host: "" }, "virtual", /ssh_host is not set/],
  ["another type", { virtual_power_type: "vmware" }, "virtual", /neither virsh nor vbox/],
  [
    "an option for a host",
    { virtual_power_ssh_host: "-oProxyCommand=id" },
    "incomplete",
    /not a host name/,
  ],
  ["a URI for a host", { virtual_power_ssh_host: "ssh://a/" }, "incomplete", /not a host name/],
  ["a user in the host", { virtual_power_ssh_host: "root@a" }, "incomplete", /not a host name/],
  ["no user", { virtual_power_host_user: null }, "incomplete", /user is not set/],
  ["an option for a user", { virtual_power_host_user: "-la" }, "incomplete", /not a user name/],
  ["a command for a user", { virtual_power_host_user: "$(id)" }, "incomplete", /not a user name/],
  ["a port beyond all", { virtual_power_ssh_port: 65_536 }, "incomplete", /not a port/],
  ["no key", { virtual_power_host_key: null }, "incomplete", /key is not set/],
  ["an empty key", { virtual_power_host_key: "" }, "incomplete", /key is not set/],
  [
    "a key of another host",
    { virtual_power_host_key: "/nonexistent/id_rsa" },
    "incomplete",
    /on the compute host/,
  ],
  ["a folder for a key", { virtual_power_host_key: "/" }, "incomplete", /cannot be read/],
];

for (const [what, settings, verdict, detail] of CASES)
  test(`with ${what} nothing is sent, and the reading is ${verdict}`, async (t) => {
    const host = otherHost(t);
    const [reading] = await host.ask([machine(1)], settings);
    assert.equal(reading?.verdict, verdict);
    assert.match(reading?.detail ?? "", detail);
    assert.deepEqual([reading?.client, reading?.attempts, reading?.elapsed], [null, 0, 0]);
    assert.deepEqual(host.lines("runs"), []);
  });
