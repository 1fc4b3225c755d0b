import assert from "node:assert/strict";
import { test } from "node:test";
import { powerView, summary } from "../../../src/cli/views/power.ts";
import { live } from "../../../src/migrate/power/rules/gate.ts";
import { type PowerReading, type PowerVerdict, unread } from "../../../src/model/power.ts";
import { collector, printRows } from "../../window/report/collect.ts";

const VERDICTS: readonly PowerVerdict[] = [
  ...(["ok", "unreachable", "no-ipmi2", "cipher-refused", "no-slots", "wrong-user"] as const),
  ...(["wrong-password", "wrong-kg", "privilege-refused", "busy", "protocol-error"] as const),
  ...(["deadline", "incomplete", "virtual", "iboot", "tilera", "fake"] as const),
  "other-power",
];

const reading: PowerReading = {
  ...unread(
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
