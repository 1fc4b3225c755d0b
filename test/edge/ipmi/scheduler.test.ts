import assert from "node:assert/strict";
import { test } from "node:test";
import { bmcOf } from "../../../src/edge/ipmi/queue.ts";
import { unasked } from "../../../src/edge/ipmi/reading.ts";
import { askAll, type Schedule } from "../../../src/edge/ipmi/scheduler.ts";
import type { PowerProbe, PowerQuestion, PowerReading } from "../../../src/model/power.ts";
import { type SimClock, simClock } from "./sim-clock.ts";

/** What a probe that is played saw. */
interface Seen {
  readonly starts: { readonly id: number; readonly at: number; readonly bmc: string }[];
  most: number;
  now: number;
  readonly ends: Map<string, number>;
}

interface Play {
  readonly schedule?: Partial<Schedule>;
  /** Milliseconds for each BMC. */
  readonly took?: number | ((id: number) => number);
  readonly answer?: (id: number, time: number) => Partial<PowerReading>;
  readonly signal?: AbortSignal;
  readonly each?: (reading: PowerReading) => void;
}

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

test("failures are asked again after all others, and refusals never", async () => {
  const verdicts = ["unreachable", "busy", "no-slots", "protocol-error"] as const;
  const refusals = ["wrong-password", "wrong-user", "wrong-kg", "privilege-refused"] as const;
  const failed: number[] = [];
  const times = new Map<number, number>();
  const { readings, seen } = await play(100, {
    answer(id) {
      const time = (times.get(id) ?? 0) + 1;
      times.set(id, time);
      const verdict = verdicts[id] ?? refusals[id - 10] ?? "ok";
      const healed = verdict === "unreachable" && time === 2;
      return { verdict: healed ? "ok" : verdict, attempts: 3 };
    },
    each: (reading) => failed.push(...reading.bm_node_ids),
  });
  assert.deepEqual(failed.toSorted(byNumber), [0, 1, 2, 3]);
  const order = seen.starts.map(({ id }) => id);
  assert.deepEqual(order.slice(100).toSorted(byNumber), [0, 1, 2, 3]);
  assert.equal(readings.length, 100);
  const byId = new Map(readings.map((reading) => [reading.bm_node_ids[0], reading]));
  assert.deepEqual([byId.get(0)?.verdict, byId.get(0)?.pass, byId.get(0)?.attempts], ["ok", 2, 6]);
  assert.deepEqual([byId.get(1)?.verdict, byId.get(1)?.pass], ["busy", 2]);
  assert.deepEqual([byId.get(10)?.verdict, byId.get(10)?.pass], ["wrong-password", 1]);
});

test("the deadline bounds both times a BMC is asked, and silence is asked for once", async () => {
  const questions = ["one", "two", "three"].map((user, id) => ({
    ...question(id),
    address: "10.2.2.2",
    user,
  }));
  for (const [deadline, starts] of [
    [3000, 1],
    [8000, 2],
  ] as const) {
    const { readings, seen, clock } = await play(questions, {
      schedule: { deadline },
      took: 3000,
      answer: () => ({ verdict: "unreachable", detail: "does not answer", elapsed: 3000 }),
    });
    assert.equal(seen.starts.length, starts);
    assert.ok(clock.now() < deadline + 5500, `${clock.now()} ms`);
    const ids = readings.map(({ bm_node_ids: [id] }) => id ?? -1);
    assert.deepEqual(ids.toSorted(byNumber), [0, 1, 2]);
    assert.ok(readings.every(({ verdict }) => verdict === "unreachable"));
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

async function play(
  what: number | readonly PowerQuestion[],
  { schedule, took = 20, answer, signal, each }: Play = {},
  leaveAfter = Infinity,
): Promise<{ readonly readings: PowerReading[]; readonly seen: Seen; readonly clock: SimClock }> {
  const clock = simClock();
  const seen: Seen = { starts: [], most: 0, now: 0, ends: new Map() };
  const probe: PowerProbe = (asked, { signal: stopped }) => {
    const id = asked.bm_node_ids[0] ?? -1;
    seen.starts.push({ id, at: clock.now(), bmc: bmcOf(asked) });
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    return new Promise<PowerReading>((resolve, reject) => {
      const time = typeof took === "number" ? took : took(id);
      const cancel = clock.after(time, () => {
        try {
          const begun = { date: clock.date(), client: "native" as const };
          const blank = unasked(asked, begun, { verdict: "ok", detail: "played" });
          resolve({ ...blank, ...answer?.(id, clock.now()) });
        } catch (error) {
          reject(error);
        }
      });
      stopped.addEventListener("abort", () => {
        cancel();
        reject(stopped.reason);
      });
    }).finally(() => {
      seen.now -= 1;
    });
  };
  const questions = typeof what === "number" ? range(what).map(question) : what;
  const readings: PowerReading[] = [];
  const work = async (): Promise<void> => {
    const options = {
      clock,
      signal: signal ?? new AbortController().signal,
      ...(schedule && { schedule }),
      ...(each && { failed: each }),
    };
    for await (const reading of askAll(stream(questions), probe, options)) {
      readings.push(reading);
      if (readings.length >= leaveAfter) break;
    }
  };
  await clock.run(work());
  return { readings, seen, clock };
}

async function* stream(questions: readonly PowerQuestion[]): AsyncGenerator<PowerQuestion> {
  yield* questions;
}

function question(id: number): PowerQuestion {
  const address = `10.9.${id >> 8}.${id & 255}`;
  return { bm_node_ids: [id], address, user: "admin", password: () => "throwaway" };
}

function range(length: number): number[] {
  return Array.from({ length }, (_, at) => at);
}

function byNumber(one: number, other: number): number {
  return one - other;
}
