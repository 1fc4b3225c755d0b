import { randomBytes, randomInt } from "node:crypto";
import {
  type Bmc,
  hasRoom,
  type Legacy,
  limitOf,
  next,
  passwordOf,
  type SimSession,
  userOf,
} from "./bmc.ts";
import { openCommand, sessionCommand } from "./commands.ts";
import { legacyCode, same } from "./crypto.ts";
import {
  packet15,
  readRequest,
  type SimAnswer,
  type SimPacket,
  type SimRequest,
  writeAnswer,
} from "./packet.ts";

type Packet15 = Extract<SimPacket, { readonly kind: "1.5" }>;
const NO_CODE = Buffer.alloc(0);

/** Answers a packet of the 1.5 format: without a session, of a login, or of a session. */
export function handle15(bmc: Bmc, packet: Packet15, now: number): Buffer | null {
  const request = readRequest(packet.message);
  if (request === null) return null;
  if (packet.session === 0) {
    const challenge = request.netFn === 6 && request.command === 0x39;
    const answer = challenge ? newChallenge(bmc, request, now) : openCommand(bmc, request);
    return answer && packet15(0, 0, 0, NO_CODE, writeAnswer(request, answer));
  }
  const session = bmc.sessions.get(packet.session);
  if (session === undefined || session.protocol.kind !== "1.5") return null;
  // A wrong password is silence: no code says so in IPMI 1.5.
  if (!authentic(session, session.protocol, packet)) return null;
  session.usedAt = now;
  if (session.stage === "opened") return activated(bmc, session, session.protocol, request);
  const ahead = (packet.sequence - session.protocol.inbound) | 0;
  if (ahead < 0 || ahead > 8) return null;
  session.protocol.inbound = next(packet.sequence);
  const answer = sessionCommand(bmc, session, request);
  return answer && reply(session, session.protocol, request, answer);
}

/** Get Session Challenge. */
function newChallenge(bmc: Bmc, { data }: SimRequest, now: number): SimAnswer {
  const authType = data[0];
  if (authType === undefined || data.length < 17) return [0xc7];
  if (!bmc.options.legacy.includes(authType)) return [0xcc];
  const user = userOf(bmc, data.subarray(1, 17).toString().replace(/\0+$/, ""));
  if (user === null) return [0x81];
  if (!hasRoom(bmc, now)) return [0xc4];
  const id = randomInt(1, 2 ** 32);
  const protocol: Legacy = {
    ...{ kind: "1.5", challenge: randomBytes(16), authType },
    ...{ inbound: 0, outbound: 0 },
  };
  bmc.sessions.set(id, { id, stage: "opened", user, privilege: 2, usedAt: now, protocol });
  return [0, ...bytes32(id), ...protocol.challenge];
}

/** Activate Session. The session keeps the id of its challenge. */
function activated(
  bmc: Bmc,
  session: SimSession,
  protocol: Legacy,
  request: SimRequest,
): Buffer | null {
  const { data } = request;
  if (request.netFn !== 6 || request.command !== 0x3a || data.length < 22) return null;
  const level = data.readUInt8(1);
  if (!same(data.subarray(2, 18), protocol.challenge)) return null;
  protocol.outbound = data.readUInt32LE(18);
  protocol.inbound = randomInt(1, 2 ** 31);
  session.stage = "active";
  if (level > limitOf(session.user)) {
    bmc.sessions.delete(session.id);
    return reply(session, protocol, request, [0x86]);
  }
  bmc.counts.logins++;
  const inbound = bytes32(protocol.inbound);
  const answer: SimAnswer = [0, protocol.authType, ...bytes32(session.id), ...inbound, level];
  return reply(session, protocol, request, answer);
}

function reply(
  session: SimSession,
  protocol: Legacy,
  request: SimRequest,
  answer: NonNullable<SimAnswer>,
): Buffer {
  const message = writeAnswer(request, answer);
  const { authType, outbound } = protocol;
  const mac = legacyCode(authType, password16(session), session.id, outbound, message);
  protocol.outbound = next(outbound);
  return packet15(authType, outbound, session.id, mac, message);
}

function authentic(session: SimSession, { authType }: Legacy, packet: Packet15): boolean {
  const { session: id, sequence, message } = packet;
  const expected = legacyCode(authType, password16(session), id, sequence, message);
  return packet.authType === authType && same(packet.authCode, expected);
}

function password16({ user }: SimSession): Buffer {
  const padded = Buffer.alloc(16);
  passwordOf(user).copy(padded);
  return padded;
}

function bytes32(value: number): readonly number[] {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return [...bytes];
}
