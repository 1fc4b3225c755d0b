import assert from "node:assert/strict";
import { test } from "node:test";
import { seeded } from "../../../src/lib/ipmi/queue.ts";
import { newBmc } from "../../support/bmc/bmc.ts";
import { newLine, seedFor } from "../../support/bmc/line.ts";
import { type BmcOptions, HEALTHY, withOptions } from "../../support/bmc/options.ts";
import { answered, CAPABILITIES, CIPHER_SUITES } from "./raw.ts";
import { withBmc, withBmcs } from "./with-farm.ts";

const many = new Array<Buffer>(200).fill(CAPABILITIES);

test("a line loses what it is told to, on each way", () => {
  const { bmc, line } = lineWith({ dropRx: 0.3, dropTx: 0.3 });
  const came = many.filter(() => line.lets()).length;
  let sent = 0;
  for (const answer of many) line.carry(answer, () => sent++);
  for (const count of [came, sent]) assert.ok(count > 110 && count < 170, `${count} of 200`);
  assert.deepEqual([bmc.counts.sent, bmc.counts.dropped], [sent, 400 - came - sent]);
});

test("the faults of a BMC are the same again for the same seed and address, and others' are not", () => {
  const bmc = newBmc("127.0.0.1", withOptions(HEALTHY, { dropRx: 0.5 }), () => {});
  const faults = (seed: number, address: string): string => {
    const line = newLine(bmc, seeded(seedFor(seed, address)));
    return many.map(() => (line.lets() ? "." : "x")).join("");
  };
  assert.equal(faults(1, "127.0.0.1"), faults(1, "127.0.0.1"));
  assert.notEqual(faults(1, "127.0.0.1"), faults(2, "127.0.0.1"));
  assert.notEqual(faults(1, "127.0.0.1"), faults(1, "127.0.0.2"));
});

test("a line delays, doubles and swaps answers", async (t) => {
  const farm = await withBmcs(t, [{ delayMs: 120 }, { duplicate: 1 }, { reorder: 1 }]);
  const [delayed = "", doubled = "", swapped = ""] = farm.addresses;
  const [late] = await answered(delayed, [CAPABILITIES]);
  assert.ok(late !== undefined && late.after >= 118, `${late?.after} ms`);
  assert.equal((await answered(doubled, [CAPABILITIES], 2)).length, 2);
  const order = await answered(swapped, [CAPABILITIES, CIPHER_SUITES]);
  const formats = order.map(({ bytes }) => bytes[4]);
  assert.deepEqual(formats, [6, 0]);
  const [alone] = await answered(swapped, [CAPABILITIES]);
  // Moments of the virtual clock are sums of fractions.
  assert.ok(alone !== undefined && Math.round(alone.after) >= 100, `${alone?.after} ms`);
});

test("some answers are so late that they are another question's", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { line } = lineWith({ late: { probability: 0.5, ms: 200 } });
  let sent = 0;
  for (const answer of many) line.carry(answer, () => sent++);
  assert.ok(sent > 60 && sent < 140, `${sent} of 200`);
  const punctual = sent;
  t.mock.timers.tick(199);
  assert.equal(sent, punctual);
  t.mock.timers.tick(1);
  assert.equal(sent, 200);
});

test("garbage comes before an answer, and is never like it", async (t) => {
  const bmc = await withBmc(t, { garbage: 1 });
  const came = await answered(bmc.address, many.slice(0, 50), 100);
  assert.equal(came.length, 100);
  const good = came.filter(({ bytes }) => bytes.equals(came[1]?.bytes ?? bytes));
  assert.equal(good.length, 50);
  // Whole, empty and cut ones: how many lengths there are follows from the address.
  assert.ok(new Set(came.map(({ bytes }) => bytes.length)).size > 2);
});

function lineWith(options: Partial<BmcOptions>) {
  const bmc = newBmc("127.0.0.1", withOptions(HEALTHY, options), () => {});
  return { bmc, line: newLine(bmc, seeded(seedFor(1, bmc.address))) };
}
