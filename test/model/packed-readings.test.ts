import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { packReadings } from "../../src/model/packed-readings.ts";
import { type PowerReading, unasked } from "../../src/model/power.ts";
import { seeded } from "../support/seeded.ts";

function reading(ids: readonly number[], more: Partial<PowerReading> = {}): PowerReading {
  const address = `10.0.0.${ids[0]}`;
  return {
    ...unasked(
      { bm_node_ids: ids, address },
      { date: new Date(7_654_321), client: "native" },
      { verdict: "ok", detail: "power is on" },
    ),
    asked: {
      words: `${address} port 623 as "admin" at ADMINISTRATOR`,
      ipmitool: "1.8.19",
      machines: ids.map((id) => `digest-${id}`),
    },
    elapsed: 12.5 + (ids[0] ?? 0),
    ...more,
  };
}

const { asked: _, ...unsaid } = reading([5]);
const advice = [{ key: "ipmi_cipher_suite", value: "3", words: "set it to 3" }] as const;

/** Alike, of several machines, of no question, of another one, with all that a BMC can say. */
const READINGS: readonly PowerReading[] = [
  reading([1]),
  reading([2, 9, 4]),
  reading([3], { suites: [3, 17], rtt: 0.25, kg: false, advice, warnings: ["N2I-D628"] }),
  unsaid,
  reading([6], { asked: { words: "the host of it", ipmitool: "1.8.18", machines: [] } }),
  reading([7], { asked_at: "", address: "" }),
  reading([8], { verdict: "unreachable", power: null, client: null }),
];

test("packed readings give what was put, field by field in its order, for each of their machines", () => {
  const readings = packReadings();
  for (const one of READINGS) readings.put(one);
  for (const one of READINGS)
    for (const id of one.bm_node_ids) {
      assert.deepEqual(readings.get(id), one, String(id));
      assert.equal(JSON.stringify(readings.get(id)), JSON.stringify(one));
    }
  assert.equal(readings.get(10), undefined);
  const each = READINGS.flatMap((one) => one.bm_node_ids.map(() => one));
  assert.deepEqual([...readings.values()], each);
});

test("of two readings of a machine the later one counts", () => {
  const readings = packReadings();
  const [both, again] = [reading([1, 2]), reading([2], { power: "on" })];
  readings.put(both);
  readings.put(again);
  assert.deepEqual([readings.get(1), readings.get(2)], [both, again]);
  assert.deepEqual([...readings.values()], [both, again]);
});

test("readings in whatever order answer as a map of them does", () => {
  const ids = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 3 });
  const inOrder = fc.array(fc.nat(20)).map((all) => [...new Set(all)].toSorted((a, b) => a - b));
  const first = inOrder.map((all) => all.map((id) => [id]));
  const sequences = fc.tuple(first, fc.array(ids)).map(([some, others]) => [...some, ...others]);
  fc.assert(
    fc.property(sequences, (all) => {
      const readings = packReadings();
      const known = new Map<number, PowerReading>();
      for (const [at, these] of all.entries()) {
        const one = reading(these, { elapsed: at });
        readings.put(one);
        for (const id of these) known.set(id, one);
      }
      assert.deepEqual([...readings.values()], [...known.values()]);
      for (let id = 0; id <= 20; id += 1) assert.deepEqual(readings.get(id), known.get(id));
    }),
    seeded(100),
  );
});
