import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { askAll } from "../../../src/lib/ipmi/fleet.ts";
import type { BmcVerdict, Limits } from "../../../src/lib/ipmi/index.ts";
import { credentials } from "../../../src/lib/ipmi/login.ts";
import type { Line } from "../../../src/lib/ipmi/talk.ts";
import { PAYLOAD, parsePacket } from "../../../src/lib/ipmi/wire.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { byNumber, play, question, range } from "./play.ts";
import {
  ask,
  busy,
  GOOD_NETWORK,
  hex,
  LOGIN,
  limited,
  type SimClock,
  simBmc,
  simChance,
  simClock,
  simLine,
} from "./sim.ts";

type PowerAnswer = Awaited<ReturnType<typeof askPower>>;

/** What says that the BMC, or what is known of it, is at fault: no loss of datagrams may bring it. */
const HARD: readonly BmcVerdict[] = [
  ...(["no-ipmi2", "cipher-refused", "wrong-user", "wrong-password", "wrong-kg"] as const),
  ...(["privilege-refused", "incomplete", "port-closed", "protocol-error"] as const),
];

for (const [loss, least] of [
  [0.05, 40],
  [0.1, 40],
  [0.2, 40],
  [0.3, 35],
  [0.4, 15],
] as const)
  test(`at ${loss * 100} % loss each way nothing is called a fault of the BMC, and most are read`, async () => {
    let right = 0;
    for (let seed = 0; seed < 40; seed++) {
      const { answer, took } = await ask({}, { seed, network: { loss, delay: 10, jitter: 5 } });
      assert.ok(!HARD.includes(answer.verdict), `seed ${seed}: ${answer.detail}`);
      // What answers at all is asked for as long as there is time.
      if (answer.verdict === "silent" && !/the user name/.test(answer.detail))
        assert.ok(took > 55_000 || /1\.5/.test(answer.detail), `seed ${seed}: ${took} ms`);
      if (answer.verdict === "ok") right += 1;
    }
    assert.ok(right >= least, `${right} of 40`);
  });

test("at 2 % loss a wrong password, user, Kg or level is still called by its name", async () => {
  const network = { loss: 0.02, delay: 10 };
  for (let seed = 0; seed < 150; seed++) {
    const password = await ask({}, { seed, network, password: "nope" });
    const user = await ask({ unknownUser: "silent" }, { seed, network, user: "nobody" });
    const kg = await ask({ kg: hex("a") }, { seed, network });
    const level = await ask(limited(2), { seed, network });
    assert.deepEqual(
      [password, user, kg, level].map(({ answer }) => answer.verdict),
      ["wrong-password", "silent", "wrong-kg", "privilege-refused"],
      `seed ${seed}`,
    );
  }
});

test("the answer to 1.5's form, come twice, does not say that the BMC lacks 2.0", async () => {
  const network = { loss: 0.3, delay: 10, jitter: 400, duplicates: 0.9 };
  for (let seed = 0; seed < 300; seed++) {
    const { answer } = await ask({}, { seed, network });
    assert.notEqual(answer.verdict, "no-ipmi2", `seed ${seed}`);
  }
});

test("at 2 % loss duplicates, overtaking and long delays change no verdict of 500", async () => {
  const network = { loss: 0.02, delay: 100, jitter: 1500, duplicates: 0.3 };
  for (let seed = 0; seed < 500; seed++) {
    const power = seed % 2 === 0;
    const { answer, bmc } = await ask({ power }, { seed, network });
    const wanted = ["ok", power ? "on" : "off"];
    assert.deepEqual([answer.verdict, answer.power], wanted, `seed ${seed}`);
    assert.ok(bmc.counts.rakp1 >= 1);
  }
});

test("whatever a BMC is like, it is sent commands that read alone, there is a verdict within a minute and the session is shut", async () => {
  // Rare, so that some of the BMCs are read.
  const statuses = fc.integer({ min: -500, max: 255 }).map((code) => (code > 0 ? code : null));
  const nature = fc.record<Partial<BmcOptions>>(
    {
      openStatus: statuses.map((status) => (status === null ? {} : { "*": status })),
      openTimes: fc.constantFrom(0, 1, 3, Infinity),
      openPrivilege: fc.boolean(),
      rakp2Status: statuses,
      macLength: fc.constantFrom(-1, 0, 4),
      suites: fc.subarray([1, 2, 3, 15, 16, 17]),
      silent54: fc.boolean(),
      listed: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 40 }),
      users: fc.constantFrom(...([1, 2, 3, 4] as const).map((limit) => limited(limit).users)),
      roleStatus: fc.constantFrom(9, null),
      version2: fc.constantFrom(true, true, true, false),
      form2: fc.constantFrom<BmcOptions["form2"]>("answers", "silent", "cut", 0xc0, 0xff),
      formTimes: fc.constantFrom(0, 0, 1, Infinity),
      form15: fc.constantFrom<BmcOptions["form15"]>("answers", "has 2.0 bits", "silent", 0xff),
      portOnce: fc.boolean(),
      repeats: fc.constantFrom("answered", "refused"),
      errorLength: fc.constantFrom(2, 8),
      unknownUser: fc.constantFrom("silent" as const, 0x0d),
      busy: fc.tuple(fc.integer({ min: 1, max: 255 }), fc.nat(20)).map((odd) => busy(...odd).busy),
      deviceSilent: fc.boolean(),
      wrongChecksums: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const asking = fc.record({
    seed: fc.nat(),
    password: fc.constantFrom(LOGIN.password, LOGIN.password, "another"),
    network: fc.record({
      loss: fc.double({ min: 0, max: 0.4, noNaN: true }),
      duplicates: fc.constantFrom(0, 0.3),
    }),
  });
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(nature, asking, async (odd, how) => {
      const { answer, bmc, took } = await ask(odd, how);
      for (const command of bmc.seen) seen.add(command);
      assert.ok(took <= 60_000 + 1, `${took} ms`);
      assert.equal(answer.power !== null, answer.verdict === "ok");
      assert.ok(answer.detail.length > 0);
    }),
    { numRuns: 400, seed: 1 },
  );
  assert.deepEqual([...seen].toSorted(), ["00/01", "06/01", "06/3b", "06/3c"]);
});

/** Asks a healthy BMC over a changed line: its open sessions and the time, once nothing moves. */
async function over(
  change: (line: ReturnType<typeof simLine>, clock: SimClock, stop: AbortController) => Line,
  assertEnd: (asking: Promise<PowerAnswer>) => Promise<unknown>,
) {
  const clock = simClock();
  const bmc = simBmc({}, clock.now);
  const stop = new AbortController();
  const line = change(simLine(bmc, clock, 1, GOOD_NETWORK), clock, stop);
  const known = credentials(LOGIN.user, LOGIN.password, null);
  const limits = { deadline: 60_000, signal: stop.signal };
  await assertEnd(clock.run(askPower(line, known, { clock, chance: simChance(5) }, limits)));
  await clock.run(new Promise<void>((resolve) => void clock.after(50, resolve)));
  return { open: bmc.open(), now: clock.now() };
}

const assertAborted = (asking: Promise<PowerAnswer>) =>
  assert.rejects(asking, { name: "AbortError" });
const assertRead = async (asking: Promise<PowerAnswer>) =>
  assert.equal((await asking).verdict, "ok");

test("a session whose RAKP 4 is lost is closed all the same, stopped or not", async () => {
  for (const stopped of [true, false]) {
    let lost = false;
    const { open, now } = await over(
      (line, _, stop) => ({
        ...line,
        receive: (handler) =>
          line.receive((datagram) => {
            const first = !lost && parsePacket(datagram)?.type === PAYLOAD.rakp4;
            lost ||= first;
            if (!first) handler?.(datagram);
            else if (stopped) stop.abort();
          }),
      }),
      stopped ? assertAborted : assertRead,
    );
    assert.equal(open, 0);
    assert.ok(!stopped || now < 2200, `${now} ms`);
  }
});

test("when it is stopped midway, it ends at once, and a session that is open is closed", async () => {
  for (let sendings = 1; sendings <= 9; sendings++) {
    const { open, now } = await over(
      (line, clock, stop) => ({
        ...line,
        send: (datagram) => {
          line.send(datagram);
          if (line.sent() === sendings) clock.after(1.5, () => stop.abort());
        },
      }),
      // While the session is being closed the answer is there already.
      sendings === 9 ? assertRead : assertAborted,
    );
    assert.equal(open, 0, `after ${sendings}`);
    assert.ok(now < 100);
  }
});

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
