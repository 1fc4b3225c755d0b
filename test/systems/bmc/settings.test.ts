import assert from "node:assert/strict";
import { test } from "node:test";
import type { PowerVerdict } from "../../../src/model/power.ts";
import { machine, otherHost } from "./other-host.ts";

type Setting = "ssh_host" | "type" | "host_user" | "ssh_port" | "host_key";

const CASES: readonly (readonly [string, Setting, string | number | null, PowerVerdict, RegExp])[] =
  [
    ["no host", "ssh_host", null, "virtual", /ssh_host is not set/],
    ["an empty host", "ssh_host", "", "virtual", /ssh_host is not set/],
    ["another type", "type", "vmware", "virtual", /neither virsh nor vbox/],
    ["an option for a host", "ssh_host", "-oProxyCommand=id", "incomplete", /not a host name/],
    ["a URI for a host", "ssh_host", "ssh://a/", "incomplete", /not a host name/],
    ["a user in the host", "ssh_host", "root@a", "incomplete", /not a host name/],
    ["no user", "host_user", null, "incomplete", /user is not set/],
    ["an option for a user", "host_user", "-la", "incomplete", /not a user name/],
    ["a command for a user", "host_user", "$(id)", "incomplete", /not a user name/],
    ["a port beyond all", "ssh_port", 65_536, "incomplete", /not a port/],
    ["no key", "host_key", null, "incomplete", /key is not set/],
    ["an empty key", "host_key", "", "incomplete", /key is not set/],
    [
      "a key of another host",
      "host_key",
      "/nonexistent/id_rsa",
      "incomplete",
      /on the compute host/,
    ],
    ["a folder for a key", "host_key", "/", "incomplete", /cannot be read/],
  ];

for (const [what, setting, value, verdict, detail] of CASES)
  test(`with ${what} nothing is sent, and the reading is ${verdict}`, async (t) => {
    const host = otherHost(t);
    const [reading] = await host.ask([machine(1)], { [`virtual_power_${setting}`]: value });
    assert.equal(reading?.verdict, verdict);
    assert.match(reading?.detail ?? "", detail);
    assert.deepEqual([reading?.client, reading?.attempts, reading?.elapsed], [null, 0, 0]);
    assert.deepEqual(host.lines("runs"), []);
  });
