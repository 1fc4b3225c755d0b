import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "../../../src/lib/ipmi/commands.ts";
import {
  type Keys,
  open,
  type Rakp,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  type Suite,
  seal,
  sessionKeys,
  startsWithMac,
  suiteOf,
} from "../../../src/lib/ipmi/crypto.ts";
import {
  openRequest,
  parseOpened,
  parseRakp2,
  parseRakp4,
  rakp1,
  rakp3,
} from "../../../src/lib/ipmi/login.ts";
import {
  authTypeOf,
  PAYLOAD,
  type Packet,
  parsePacket,
  parseResponse,
  request,
  unwrap15,
  wrap15,
} from "../../../src/lib/ipmi/wire.ts";
import { bytes, type Exchange, exchanges } from "./vectors.ts";

interface Played {
  logins: number;
  /** Packets of sessions that opened and were made again byte for byte. */
  sealed: number;
  readonly statuses: number[];
  /** Datagrams the codec does not speak: 1.5 sessions, presence pings, suite 0. */
  foreign: number;
}

type Draft = { -readonly [key in keyof Rakp]?: Rakp[key] } & { tag?: number; keys?: Keys };

/** Plays an exchange: each of its packets must be as our codec reads it, and as it would make it. */
function replay(exchange: Exchange): Played {
  const played: Played = { logins: 0, sealed: 0, statuses: [], foreign: 0 };
  let draft: Draft = {};
  for (const line of exchange.datagrams) {
    const datagram = bytes(line.slice(2));
    const packet = parsePacket(datagram);
    if (packet === null) {
      if (!replay15(datagram)) played.foreign += 1;
      continue;
    }
    if (packet.type === PAYLOAD.openRequest) draft = begin(exchange, datagram, packet);
    else if (packet.type !== PAYLOAD.ipmi) goOn(exchange, draft, datagram, packet, played);
    else replaySealed(draft, line.startsWith(">"), datagram, packet, played);
  }
  return played;
}

/** @returns false for what is not of 1.5 outside a session */
function replay15(datagram: Buffer): boolean {
  if (authTypeOf(datagram) !== 0) return false;
  const message = unwrap15(datagram);
  if (message === null) return false;
  assert.equal(datagram.indexOf(wrap15(message)), 0);
  const response = parseResponse(message);
  if (response !== null) assert.ok(response.checksumsGood);
  else replayRequest(message);
  return true;
}

function replayRequest(message: Buffer): void {
  // Other programs' commands are none that we could send.
  const command = { netFn: (message[1] ?? 0) >> 2, cmd: message[5] ?? 0 } as Command;
  const again = request(command, (message[4] ?? 0) >> 2, message.subarray(6, -1));
  assert.deepEqual(again, message);
}

function begin({ user, password, kg }: Exchange, datagram: Buffer, { payload }: Packet): Draft {
  const consoleSession = payload.subarray(4, 8);
  const suite = byAlgorithms([16, 24, 32].map((at) => payload[at - 4] ?? -1));
  const tag = payload[0] ?? -1;
  if (suite !== null)
    assert.deepEqual(openRequest(tag, payload[1] ?? 0, consoleSession, suite), datagram);
  const secrets = {
    user: Buffer.from(user),
    password: Buffer.from(password),
    kg: kg === null ? null : Buffer.from(kg),
  };
  return { ...secrets, consoleSession, tag, ...(suite && { suite }) };
}

function byAlgorithms(wanted: readonly number[]): Suite | null {
  const all = [1, 2, 3, 15, 16, 17].map(suiteOf);
  return all.find((one) => one?.algorithms.every((each, at) => each === wanted[at])) ?? null;
}

function goOn(
  exchange: Exchange,
  draft: Draft,
  datagram: Buffer,
  packet: Packet,
  played: Played,
): void {
  const { payload } = packet;
  // Some clients have a tag for each message.
  if (packet.type === PAYLOAD.rakp1 || packet.type === PAYLOAD.rakp3) draft.tag = payload[0] ?? -1;
  const { tag = -1, consoleSession = Buffer.alloc(4) } = draft;
  if (packet.type === PAYLOAD.rakp1) {
    draft.consoleRandom = payload.subarray(8, 24);
    draft.role = payload[24] ?? 0;
    draft.user = payload.subarray(28, 28 + (payload[27] ?? 0));
    const { bmcSession = Buffer.alloc(4), consoleRandom, role, user } = draft;
    assert.deepEqual(rakp1(tag, { bmcSession, consoleRandom, role, user }), datagram);
  } else if (packet.type === PAYLOAD.rakp3) {
    if (isLogin(draft)) assert.deepEqual(rakp3(tag, draft.bmcSession, rakp3Mac(draft)), datagram);
  } else if (packet.type === PAYLOAD.openResponse) {
    const opened = parseOpened(packet, tag, consoleSession);
    assert.ok(opened !== null);
    if ("status" in opened) played.statuses.push(opened.status);
    else draft.bmcSession = opened.bmcSession;
  } else if (packet.type === PAYLOAD.rakp2) {
    const second = parseRakp2(packet, tag, consoleSession);
    assert.ok(second !== null);
    if ("status" in second) return void played.statuses.push(second.status);
    draft.bmcRandom = second.bmcRandom;
    draft.guid = second.guid;
    if (isLogin(draft))
      assert.equal(startsWithMac(second.mac, rakp2Mac(draft)), exchange.password_fits);
  } else {
    const fourth = parseRakp4(packet, tag, consoleSession);
    assert.ok(fourth !== null && packet.type === PAYLOAD.rakp4);
    if ("status" in fourth) return void played.statuses.push(fourth.status);
    played.logins += 1;
    if (!isLogin(draft)) return;
    draft.keys = sessionKeys(draft);
    assert.equal(startsWithMac(fourth.icv, rakp4Icv(draft, draft.keys)), exchange.kg_fits);
  }
}

/** Whether all of a login is known; a suite we do not speak is never in it. */
function isLogin(draft: Draft): draft is Draft & Rakp {
  return draft.suite !== undefined && draft.bmcRandom !== undefined;
}

function replaySealed(
  draft: Draft,
  fromConsole: boolean,
  datagram: Buffer,
  packet: Packet,
  played: Played,
): void {
  const { suite, keys } = draft;
  if (suite === undefined || packet.session === 0) {
    played.foreign += 1;
    return;
  }
  assert.ok(keys !== undefined);
  const message = open(suite, keys, packet);
  assert.ok(message !== null);
  const iv = packet.payload.subarray(0, 16);
  const sequence = datagram.readUInt32LE(10);
  assert.deepEqual(seal({ suite, keys, session: packet.session }, sequence, message, iv), datagram);
  played.sealed += 1;
  if (fromConsole) replayRequest(message);
  else assert.equal(parseResponse(message)?.checksumsGood, true);
}

for (const exchange of exchanges()) {
  test(`what two programs said is read and made again byte for byte: ${exchange.shows}`, () => {
    replay(exchange);
  });
}

test("the exchanges at hand have logins, sealed packets and refusals in them", () => {
  const all = exchanges().map(replay);
  assert.equal(sum(all.map(({ logins }) => logins)), 8);
  assert.ok(sum(all.map(({ sealed }) => sealed)) >= 50);
  assert.deepEqual(
    all.flatMap(({ statuses }) => statuses),
    [0x0d, 0x04, 0x01, 0x09],
  );
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
