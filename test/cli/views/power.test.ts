import assert from "node:assert/strict";
import { test } from "node:test";
import { groups, powerView, subnetOf, summary, vendorOf } from "../../../src/cli/views/power.ts";
import { live } from "../../../src/migrate/power/rules/gate.ts";
import { blank, type PowerReading, type PowerVerdict } from "../../../src/model/power.ts";
import { collector, printRows } from "../../window/report/collect.ts";

const VERDICTS: readonly PowerVerdict[] = [
  ...(["ok", "unreachable", "no-ipmi2", "cipher-refused", "no-slots", "wrong-user"] as const),
  ...(["wrong-password", "wrong-kg", "privilege-refused", "busy", "protocol-error"] as const),
  ...(["deadline", "incomplete", "virtual", "iboot", "tilera", "fake"] as const),
  "other-power",
];

const reading: PowerReading = {
  ...blank(
    { bm_node_ids: [7, 9], address: "10.0.0.7" },
    { date: new Date(0), client: "native" },
    { verdict: "ok", detail: "power is on" },
  ),
  power: "on",
  suite: 3,
  advice: [
    { key: "ipmi_cipher_suite", value: "3", words: "set driver_info.ipmi_cipher_suite to 3" },
  ],
  warnings: ["N2I-D628"],
};

test("the summary says in words what each verdict means, on 80 columns", () => {
  const lines = summary(Object.fromEntries(VERDICTS.map((verdict, at) => [verdict, 90_000 - at])));
  assert.equal(lines.length, VERDICTS.length + 1);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.deepEqual(summary({ busy: 2, ok: 40 }), [
    "  Machines  Verdict            What it means",
    "        40  ok                 answered with a conductor's settings",
    "         2  busy               always busy: retry later",
  ]);
});

const machines = new Map([
  [7, { uuid: "uuid-7", host: "compute-1", instance: "instance-7", name: null, address: null }],
  [9, { uuid: "uuid-9", host: "compute-1", instance: null, name: null, address: null }],
]);

async function rowOf(reading: PowerReading): Promise<readonly unknown[]> {
  for await (const row of powerView([reading], machines).rows) return row;
  return [];
}

test("a machine's line for people names what to set, for which releases, and why", async () => {
  const { out, text } = collector();
  const { brief = [], columns, rows } = powerView([reading], machines);
  await printRows(out, columns, rows, { format: "table", maxWidth: 80, column: brief });
  for (const line of text().split("\n")) assert.ok(line.length <= 80, line);
  assert.equal(
    (await rowOf(reading)).at(-1),
    "set driver_info.ipmi_cipher_suite (Victoria and later) to 3; BMC does not report its cipher suites (N2I-D628)",
  );
  const failed: PowerReading = { ...reading, verdict: "busy", detail: "says 0xc0", power: null };
  assert.match(String((await rowOf(failed)).at(-1)), /^says 0xc0; /);
  const row = await rowOf({ ...reading, manufacturer: 674, firmware: "2.61" });
  const whole = powerView([], machines).columns;
  assert.deepEqual(
    whole.slice(0, 9).map((name, at) => [name, row[at]]),
    [
      ["BM ID", "7 9"],
      ["UUID", "uuid-7 uuid-9"],
      ["Host", "compute-1"],
      ["Instance", "instance-7"],
      ["Address", "10.0.0.7"],
      ["Verdict", "ok"],
      ["Power", "on"],
      ["Vendor", "Dell"],
      ["Firmware", "2.61"],
    ],
  );
  assert.equal(row.length, whole.length);
});

test("while it runs, failures that may yet be bettered are told apart", () => {
  assert.equal(live(new Map([["ok", 3]]), 0), "3 ok");
  assert.equal(live(new Map([["ok", 3]]), 2), "3 ok, 2 failed so far");
  assert.equal(live(new Map(), 2), "2 failed so far");
});

const begun = { date: new Date(0), client: "native" as const };

function plain(id: number, address: string, verdict: PowerVerdict): PowerReading {
  return blank({ bm_node_ids: [id], address }, begun, { verdict, detail: "why" });
}

const fleet = new Map(
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
    ...plain(0, "10.4.7.9", "ok"),
    ...{ manufacturer: 10876, firmware: "3.88" },
    advice: [{ key: "ipmi_priv_level" as const, value: "OPERATOR", words: "set it" }],
  };
  const found = groups(
    [
      ...Array.from({ length: 15 }, (_, at) => plain(at, `10.4.7.${at}`, "unreachable")),
      ...Array.from({ length: 12 }, (_, at) => plain(60 + at, `10.4.9.${at}`, "wrong-password")),
      ...[20, 21, 22].map((id) => ({ ...level, bm_node_ids: [id], address: `10.4.8.${id}` })),
      plain(90, "10.4.7.200", "unreachable"),
    ],
    fleet,
  );
  assert.deepEqual(found, [
    "  Machines  Cause                         Host       Subnet       Vendor",
    "        15  unreachable                   compute-1  10.4.7.0/24",
    "        12  wrong-password                compute-2  10.4.9.0/24",
    "         3  set ipmi_priv_level=OPERATOR  compute-1  10.4.8.0/24  Supermicro 3.88",
    "         1  unreachable                   compute-2  10.4.7.0/24",
  ]);
  assert.deepEqual(groups([plain(1, "10.0.0.1", "ok")], fleet), []);
});

test("machines that share a BMC count each, and groups beyond a page are counted", () => {
  const shared = { ...plain(1, "10.0.0.1", "busy"), bm_node_ids: [1, 2, 3] };
  assert.match(groups([shared], fleet)[1] ?? "", /^ +3 {2}busy/);
  const many = Array.from({ length: 40 }, (_, at) => plain(at, `10.0.${at}.1`, "busy"));
  assert.equal(groups(many, fleet).at(-1), "  and 25 smaller groups");
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
