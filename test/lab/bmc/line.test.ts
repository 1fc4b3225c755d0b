import assert from "node:assert/strict";
import { test } from "node:test";
import { seeded } from "../../../src/edge/ipmi/queue.ts";
import { newBmc } from "../../../src/edge/ipmi/testing/bmc.ts";
import { newLine, seedFor } from "../../../src/edge/ipmi/testing/line.ts";
import { HEALTHY, withOptions } from "../../../src/edge/ipmi/testing/options.ts";
import { answered, CAPABILITIES, CIPHER_SUITES, exchange } from "./raw.ts";
import { withBmc, withBmcs } from "./with-farm.ts";

const many = new Array<Buffer>(200).fill(CAPABILITIES);

test("a line loses what it is told to, on each way", async (t) => {
  const farm = await withBmcs(t, [{ dropRx: 0.3 }, { dropTx: 0.3 }]);
  const [rx = "", tx = ""] = farm.addresses;
  const came = [await exchange(rx, many, 1000), await exchange(tx, many, 1000)];
  for (const { length } of came) assert.ok(length > 110 && length < 170, `${length} of 200`);
  assert.equal(farm.counts(rx).received, came[0]?.length);
  assert.equal(farm.counts(tx).received, 200);
  assert.equal(farm.counts().dropped, 400 - farm.counts().sent);
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
  assert.deepEqual(
    order.map(({ bytes }) => bytes[4]),
    [6, 0],
  );
  assert.equal((await exchange(swapped, [CAPABILITIES], 50)).length, 0);
  const alone = await answered(swapped, [CAPABILITIES]);
  assert.equal(alone.length, 1);
});

test("some answers are so late that they are another question's", async (t) => {
  const bmc = await withBmc(t, { late: { probability: 0.5, ms: 200 } });
  const came = await answered(bmc.address, many);
  assert.equal(came.length, 200);
  const late = came.filter(({ after }) => after > 190).length;
  assert.ok(late > 60 && late < 140, `${late} of 200`);
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

test("a BMC may be mute, closed, or answer from another address", async (t) => {
  const farm = await withBmcs(t, [{ dead: true }, { closed: true }, { answerFrom: "127.97.0.2" }]);
  const came = await Promise.all(
    farm.addresses.map((address) => exchange(address, [CAPABILITIES], 200)),
  );
  assert.deepEqual(
    came.map((answers) => answers.map(({ from }) => from)),
    [[], [], ["127.97.0.2"]],
  );
});
