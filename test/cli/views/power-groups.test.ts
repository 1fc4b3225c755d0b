import assert from "node:assert/strict";
import { test } from "node:test";
import { groups, subnetOf, vendorOf } from "../../../src/cli/views/power-groups.ts";
import { type PowerReading, type PowerVerdict, unread } from "../../../src/model/power.ts";

const begun = { date: new Date(0), client: "native" as const };

function reading(id: number, address: string, verdict: PowerVerdict): PowerReading {
  return unread({ bm_node_ids: [id], address }, begun, { verdict, detail: "why" });
}

const machines = new Map(
  Array.from({ length: 100 }, (_, at) => [
    at,
    {
      uuid: `u-${at}`,
      host: at < 50 ? "compute-1" : "compute-2",
      instance: null,
      name: null,
      address: null,
    },
  ]),
);

test("a dead rack, a changed password and one model stand out among scattered faults", () => {
  const level = {
    ...reading(0, "10.4.7.9", "ok"),
    ...{ manufacturer: 10876, firmware: "3.88" },
    advice: [{ key: "ipmi_priv_level" as const, value: "OPERATOR", words: "set it" }],
  };
  const found = groups(
    [
      ...Array.from({ length: 15 }, (_, at) => reading(at, `10.4.7.${at}`, "unreachable")),
      ...Array.from({ length: 12 }, (_, at) => reading(60 + at, `10.4.9.${at}`, "wrong-password")),
      ...[20, 21, 22].map((id) => ({ ...level, bm_node_ids: [id], address: `10.4.8.${id}` })),
      reading(90, "10.4.7.200", "unreachable"),
    ],
    machines,
  );
  assert.deepEqual(found, [
    "  Machines  Cause                         Host       Subnet       Vendor",
    "        15  unreachable                   compute-1  10.4.7.0/24",
    "        12  wrong-password                compute-2  10.4.9.0/24",
    "         3  set ipmi_priv_level=OPERATOR  compute-1  10.4.8.0/24  Supermicro 3.88",
    "         1  unreachable                   compute-2  10.4.7.0/24",
  ]);
  assert.deepEqual(groups([reading(1, "10.0.0.1", "ok")], machines), []);
});

test("machines that share a BMC count each, and groups beyond a page are counted", () => {
  const shared = { ...reading(1, "10.0.0.1", "busy"), bm_node_ids: [1, 2, 3] };
  assert.match(groups([shared], machines)[1] ?? "", /^ +3 {2}busy/);
  const many = Array.from({ length: 40 }, (_, at) => reading(at, `10.0.${at}.1`, "busy"));
  assert.equal(groups(many, machines).at(-1), "  and 25 smaller groups");
});

test("a subnet is the /24 of an IPv4 address, the /64 of an IPv6 one; a name is its own", () => {
  for (const [address, subnet] of [
    ["10.1.2.3", "10.1.2.0/24"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8::17", "2001:db8::/64"],
    ["fe80::1%eth0", "fe80::/64"],
    ["::1", "::/64"],
    ["bmc-7.example", "bmc-7.example"],
  ] as const)
    assert.equal(subnetOf(address), subnet);
});

test("a maker is named where its number is known", () => {
  assert.deepEqual(
    [vendorOf(10876), vendorOf(4753), vendorOf(null)],
    ["Supermicro", "IANA 4753", null],
  );
});
