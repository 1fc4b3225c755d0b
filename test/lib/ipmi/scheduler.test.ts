import assert from "node:assert/strict";
import { test } from "node:test";
import type { PowerReading } from "../../../src/model/power.ts";
import { byNumber, play, question, range } from "./play.ts";

test("every BMC is asked once, in an order that the seed alone decides", async () => {
  const orders = [];
  for (const seed of [1, 1, 2]) {
    const { readings, seen } = await play(500, { schedule: { seed } });
    const ids = readings.flatMap(({ bm_node_ids }) => bm_node_ids);
    assert.deepEqual(ids.toSorted(byNumber), range(500));
    orders.push(seen.starts.map(({ id }) => id).join(" "));
  }
  assert.equal(orders[0], orders[1]);
  assert.notEqual(orders[0], orders[2]);
  assert.notEqual(orders[0], range(500).join(" "));
});

test("no more are in flight than is said, and no more begin than the rate allows", async () => {
  const schedule = { inFlight: 32, startsPerSecond: 100 };
  const { seen } = await play(1000, { schedule, took: 250 });
  assert.equal(seen.most, 32);
  for (const [at, { at: when }] of seen.starts.entries())
    assert.ok(at <= 10 + (when * 100) / 1000 + 1, `${at} had begun at ${when} ms`);
});

test("the rate is reached when the BMCs are fast", async () => {
  const { clock } = await play(2000, { took: 5 });
  assert.ok(clock.now() > 4800 && clock.now() < 5100, `${clock.now()} ms`);
});

test("one BMC has one session at a time, and five seconds between two", async () => {
  const questions = range(40).map((id) => ({ ...question(id), address: `10.0.0.${id % 4}` }));
  const others = questions.map((one, id) => ({ ...one, user: `user${id}` }));
  const { readings, seen } = await play(others, { took: 300 });
  assert.equal(readings.length, 40);
  const last = new Map<string, number>();
  for (const { bmc, at } of seen.starts) {
    const before = last.get(bmc);
    if (before !== undefined) assert.ok(at - before >= 5300, `${at - before} ms`);
    last.set(bmc, at);
  }
});

test("machines that share BMC and credentials are one question; with another password two", async () => {
  const questions = [
    ...range(6).map((id) => ({ ...question(id), address: "10.1.1.1" })),
    { ...question(7), address: "10.1.1.1", password: () => "other" },
  ];
  const { readings } = await play(questions);
  const shared = readings.map(({ bm_node_ids }) => [...bm_node_ids].toSorted(byNumber).join(" "));
  assert.deepEqual(shared.toSorted(), ["0 1 2 3 4 5", "7"]);
});

test("the deadline bounds both times a BMC is asked, and silence is asked for once", async () => {
  const questions = ["one", "two", "three"].map((user, id) => ({
    ...question(id),
    address: "10.2.2.2",
    user,
  }));
  for (const [deadline, starts, verdict] of [
    [3000, 1, "unreachable"],
    [8000, 2, "unreachable"],
    [3000, 1, "port-closed"],
  ] as const) {
    const { readings, seen, clock } = await play(questions, {
      schedule: { deadline },
      took: 3000,
      answer: () => ({ verdict, detail: "says nothing", elapsed: 3000 }),
    });
    assert.equal(seen.starts.length, starts);
    assert.ok(clock.now() < deadline + 5500, `${clock.now()} ms`);
    const ids = readings.map(({ bm_node_ids: [id] }) => id ?? -1);
    assert.deepEqual(ids.toSorted(byNumber), [0, 1, 2]);
    assert.ok(readings.every((reading) => reading.verdict === verdict));
  }
});

test("when it is stopped, what is in flight is stopped, and what is known is told", async () => {
  const stop = new AbortController();
  let told = 0;
  const { readings, seen } = await play(1000, {
    signal: stop.signal,
    answer: (id) => (id % 10 === 0 ? { verdict: "unreachable" } : {}),
    each: () => {
      told += 1;
      if (told === 5) stop.abort();
    },
  });
  assert.ok(seen.starts.length < 1000);
  assert.equal(seen.now, 0);
  assert.equal(readings.filter(({ verdict }) => verdict === "unreachable").length, told);
  assert.ok(readings.every(({ pass }) => pass === 1));
});

test("a reader that leaves early leaves nothing in flight", async () => {
  const took = (id: number): number => (id % 2 === 0 ? 20 : 1e6);
  const { readings, seen, clock } = await play(100, { took }, 5);
  assert.equal(readings.length, 5);
  assert.equal(seen.now, 0);
  assert.ok(clock.now() < 1000);
});

test("an error of the probe is thrown when the others have been stopped", async () => {
  const broken = (id: number): Partial<PowerReading> => {
    if (id === 7) throw new RangeError("a bug");
    return {};
  };
  await assert.rejects(play(50, { answer: broken }), /a bug/);
});

test("more than 512 in flight are refused", async () => {
  await assert.rejects(play(1, { schedule: { inFlight: 513 } }), RangeError);
});

test("a small window asks all, however many there are", async () => {
  const { readings } = await play(1000, { schedule: { window: 16 } });
  assert.equal(readings.length, 1000);
});
