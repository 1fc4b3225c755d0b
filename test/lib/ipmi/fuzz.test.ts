import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { COMMANDS } from "../../../src/lib/ipmi/commands.ts";
import { open, suiteOf } from "../../../src/lib/ipmi/crypto.ts";
import { credentials, messages } from "../../../src/lib/ipmi/login.ts";
import { parsePacket, parseResponse, sessionIdOf, unwrap15 } from "../../../src/lib/ipmi/wire.ts";
import { holds } from "../../support/seeded.ts";
import { GOOD_NETWORK, LOGIN, simBmc, simChance, simClock, simLine } from "./sim.ts";
import { captured } from "./vectors.ts";

const CAPTURED = captured();
const ANSWERS = [messages.opened, messages.rakp2, messages.rakp4];
const KEYS = { sik: Buffer.alloc(32, 1), k1: Buffer.alloc(32, 2), k2: Buffer.alloc(32, 3) };
const SESSION = Buffer.from("a4a3a2a0", "hex");

const noise = fc.uint8Array({ maxLength: 1200 }).map((bytes) => Buffer.from(bytes));
/** A captured datagram with bytes changed, cut or made longer. */
const mutant = fc
  .record({
    base: fc.constantFrom(...CAPTURED),
    changes: fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }),
    cut: fc.option(fc.nat(120), { nil: null }),
    more: fc.uint8Array({ maxLength: 20 }),
  })
  .map(({ base, changes, cut, more }) => {
    const changed = Buffer.from(base);
    for (const [at, value] of changes) if (at < changed.length) changed[at] = value;
    return Buffer.concat([cut === null ? changed : changed.subarray(0, cut), more]);
  });
const datagram = fc.oneof(noise, mutant);

test("no datagram makes the codec throw, and what is read lies within it", () => {
  fc.assert(
    fc.property(datagram, fc.nat(255), (bytes, tag) => {
      sessionIdOf(bytes);
      const message = unwrap15(bytes);
      if (message !== null) readMessage(message);
      const packet = parsePacket(bytes);
      if (packet === null) return;
      assert.equal(packet.payload.length, bytes.readUInt16LE(14));
      for (const parse of ANSWERS) parse(packet, tag, SESSION);
      readMessage(packet.payload);
      for (const id of [1, 2, 3, 15, 16, 17]) {
        const suite = suiteOf(id);
        if (suite !== null) open(suite, KEYS, packet);
      }
    }),
    { numRuns: 20_000, seed: 1 },
  );
});

test("a list of suites of any bytes gives ascending numbers", () => {
  holds(100, fc.uint8Array({ maxLength: 1024 }), (bytes) => {
    const ids = COMMANDS.suites.parse(Buffer.from(bytes));
    const ascending = [...new Set(ids)].toSorted((one, other) => one - other);
    assert.deepEqual(ids, ascending);
  });
});

test("a BMC whose answers are spoilt and flooded with noise never brings a wrong power state", async () => {
  const run = fc.record({
    seed: fc.nat(),
    power: fc.boolean(),
    suite: fc.constantFrom(2, 3, 16, 17),
    spoil: fc.double({ min: 0, max: 0.5, noNaN: true }),
    flood: fc.array(datagram, { maxLength: 5 }),
  });
  let right = 0;
  await fc.assert(
    fc.asyncProperty(run, async ({ seed, power, suite, spoil, flood }) => {
      const clock = simClock();
      const chance = simChance(seed);
      const bmc = simBmc({ power, suites: [suite] });
      const spoilt = {
        receive: (bytes: Buffer) => [
          ...flood,
          ...bmc.receive(bytes).map((answer) => {
            if (chance.fraction() < spoil)
              answer[Math.floor(chance.fraction() * answer.length)] = 0xff & seed;
            return answer;
          }),
        ],
      };
      const known = credentials(LOGIN.user, LOGIN.password, null);
      const answer = await clock.run(
        askPower(
          simLine(spoilt, clock, seed, GOOD_NETWORK),
          known,
          { clock, chance },
          { deadline: 60_000, signal: new AbortController().signal },
          { suites: () => [suite], asksList: false },
        ),
      );
      assert.ok(clock.now() <= 60_001);
      if (answer.power !== null) assert.equal(answer.power, power ? "on" : "off");
      if (answer.verdict === "ok") right += 1;
    }),
    { numRuns: 400, seed: 1 },
  );
  assert.ok(right > 200, `${right} of 400`);
});

function readMessage(message: Buffer): void {
  const response = parseResponse(message);
  if (response === null) return;
  assert.ok(response.data.length <= message.length - 8);
  const { capabilities, chassis, device, suites } = COMMANDS;
  for (const { parse } of [capabilities, chassis, device, suites]) parse(response.data);
}
