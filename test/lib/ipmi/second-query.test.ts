import assert from "node:assert/strict";
import { test } from "node:test";
import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { askAll } from "../../../src/lib/ipmi/fleet.ts";
import type { Limits } from "../../../src/lib/ipmi/index.ts";
import { credentials } from "../../../src/lib/ipmi/login.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import { byNumber, play, question, range } from "./play.ts";
import { busy, GOOD_NETWORK, LOGIN, simBmc, simChance, simClock, simLine } from "./sim.ts";

test("failures are asked again when no other waits for its first turn, and refusals never", async () => {
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

test("second queries begin while a straggler of the first is still asked", async () => {
  const { seen, clock } = await play(100, {
    took: (id) => (id === 1 ? 50_000 : 1000),
    answer: (id) => (id === 0 ? { verdict: "unreachable", elapsed: 1000 } : {}),
  });
  const looks = seen.starts.filter(({ id }) => id === 0).map(({ at }) => at);
  assert.equal(looks.length, 2);
  assert.ok((looks[1] ?? Infinity) < 8000, String(looks));
  assert.ok(clock.now() < 51_000, `${clock.now()} ms`);
});

/** A tenth of 10,000, 256 in flight and 400 a second: it takes as long. */
const TENTH = { inFlight: 26, startsPerSecond: 40 };

test("10,000 with 2 % silent and one that is always full are done within a minute", async () => {
  const isSilent = (id: number): boolean => id % 50 === 1;
  const { readings, clock } = await play(1000, {
    schedule: TENTH,
    took: (id, deadline) =>
      id === 0 ? Math.min(deadline, 10_000) : isSilent(id) ? 8100 : 20 + (id % 400),
    answer(id) {
      if (id === 0) return { verdict: "no-slots", elapsed: 10_000 };
      return isSilent(id) ? { verdict: "unreachable", elapsed: 8100 } : {};
    },
  });
  const counted = (verdict: string): number =>
    readings.filter((reading) => reading.verdict === verdict).length;
  assert.deepEqual([counted("ok"), counted("unreachable"), counted("no-slots")], [979, 20, 1]);
  assert.ok(clock.now() < 55_000, `${clock.now()} ms`);
});

test("a BMC that is always full, or busy, holds a small fleet for 25 seconds at most", async () => {
  for (const fault of [{ openStatus: { "*": 1 } }, busy(0xc0, Infinity)]) {
    const clock = simClock();
    const known = credentials(LOGIN.user, LOGIN.password, null);
    const probe = async (asked: PowerQuestion, limits: Limits) => {
      const id = asked.bm_node_ids[0] ?? -1;
      const odd = id === 0 ? fault : id < 4 ? { dead: true } : {};
      const line = simLine(simBmc(odd, clock.now), clock, id, GOOD_NETWORK);
      const answer = await askPower(line, known, { clock, chance: simChance(id) }, limits);
      return { address: asked.address, pass: 1 as const, ...answer };
    };
    const options = { clock, signal: new AbortController().signal };
    const verdicts = new Set<string>();
    const work = async (): Promise<void> => {
      const asked = askAll(range(20).map(question), { ...options, ask: probe });
      for await (const { reading } of asked) verdicts.add(reading.verdict);
    };
    await clock.run(work());
    const wanted = "busy" in fault ? "busy" : "no-slots";
    assert.deepEqual([...verdicts].toSorted(), [wanted, "ok", "unreachable"].toSorted());
    assert.ok(clock.now() <= 25_000, `${clock.now()} ms`);
  }
});
