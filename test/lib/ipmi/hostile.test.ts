import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { openClient } from "../../../src/lib/ipmi/ask.ts";
import type { BmcTarget } from "../../../src/lib/ipmi/index.ts";
import { SESSION_DEFAULTS } from "../../../src/lib/ipmi/session.ts";
import { HEADER, PAYLOAD, parsePacket } from "../../../src/lib/ipmi/wire.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import { LOGIN, simBmc } from "./sim.ts";
import { muxOf } from "./udp-bmc.ts";

const LIMITS = { deadline: 6000, signal: new AbortController().signal };

/** A BMC that answers as one should, but for what `spoil` makes of it. */
async function hostile(
  t: TestContext,
  power: boolean,
  spoil: (answer: Buffer, say: (datagram: Buffer, delay?: number) => void) => readonly Buffer[],
): Promise<BmcTarget> {
  const bmc = simBmc({ power });
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const timers = new Set<() => void>();
  socket.on("message", (datagram, from) => {
    const say = (told: Buffer, delay = 0): void => {
      timers.add(QUICK.after(delay, () => socket.send(told, from.port, from.address)));
    };
    for (const answer of bmc.receive(datagram)) for (const told of spoil(answer, say)) say(told);
  });
  t.after(() => {
    for (const cancel of timers) cancel();
    socket.close();
  });
  const { port } = socket.address();
  const { user, password } = LOGIN;
  return { address: "127.0.0.1", port, user, password: () => password };
}

const typeOf = (datagram: Buffer): number => parsePacket(datagram)?.type ?? -1;

test("datagrams of 64 KB between the answers change nothing", async (t) => {
  const huge = Buffer.alloc(65_507, 0xa5);
  const question = await hostile(t, true, (answer) => {
    const padded = Buffer.alloc(65_507, 0x5a);
    answer.copy(padded);
    // The length of the payload says that all of it is.
    if (typeOf(answer) >= 0) padded.writeUInt16LE(65_507 - HEADER, 14);
    return [huge, padded, answer];
  });
  const reading = await openClient(SESSION_DEFAULTS, QUICK, muxOf(t)).ask(question, LIMITS);
  assert.deepEqual([reading.verdict, reading.power], ["ok", "on"], reading.detail);
});

test("a RAKP 2 of an earlier login is not taken for this one's, and nothing is sent after it", async (t) => {
  let first: Buffer | null = null;
  let third = 0;
  const question = await hostile(t, true, (answer) => {
    if (typeOf(answer) === PAYLOAD.rakp4) third += 1;
    if (typeOf(answer) !== PAYLOAD.rakp2) return [answer];
    first ??= Buffer.from(answer);
    // The tag and our session's number are this login's, the rest is the first one's.
    const replayed = Buffer.from(first);
    answer.copy(replayed, HEADER, HEADER, HEADER + 8);
    return [replayed];
  });
  const probe = openClient(SESSION_DEFAULTS, QUICK, muxOf(t)).ask;
  assert.equal((await probe(question, LIMITS)).verdict, "ok");
  assert.equal(third, 1);
  const again = await probe(question, LIMITS);
  assert.deepEqual([again.verdict, again.power], ["wrong-password", null]);
  assert.equal(third, 1);
});

test("BMCs that answer in each other's sessions are heard by nobody, and a third one is right", async (t) => {
  const sessions = new Map<string, Buffer>();
  const swapping = (own: string, other: string) => (answer: Buffer) => {
    const type = typeOf(answer);
    const opening = [PAYLOAD.openResponse, PAYLOAD.rakp2, PAYLOAD.rakp4].some(
      (one) => one === type,
    );
    if (type < 0 || (!opening && parsePacket(answer)?.session === 0)) return [answer];
    const at = opening ? HEADER + 4 : 6;
    sessions.set(own, Buffer.from(answer.subarray(at, at + 4)));
    const swapped = Buffer.from(answer);
    sessions.get(other)?.copy(swapped, at);
    return sessions.has(other) ? [swapped] : [];
  };
  const shared = muxOf(t);
  const probe = openClient(SESSION_DEFAULTS, QUICK, shared).ask;
  const questions = await Promise.all([
    hostile(t, true, swapping("one", "two")),
    hostile(t, false, swapping("two", "one")),
    hostile(t, false, (answer) => [answer]),
  ]);
  const readings = await Promise.all(questions.map((question) => probe(question, LIMITS)));
  const powers = readings.map(({ power }) => power);
  assert.deepEqual(powers, [null, null, "off"]);
  assert.ok(shared.unexpected() > 0);
});

test("answers that come again after the session was closed change no later answer", async (t) => {
  const question = await hostile(t, true, (answer, say) => {
    for (const delay of [40, 80, 120, 200, 400]) say(Buffer.from(answer), delay);
    return [answer];
  });
  const probe = openClient(SESSION_DEFAULTS, QUICK, muxOf(t)).ask;
  for (let turn = 0; turn < 12; turn++) {
    const reading = await probe(question, LIMITS);
    assert.deepEqual([reading.verdict, reading.power], ["ok", "on"], reading.detail);
    assert.equal(reading.attempts, 1);
  }
});
