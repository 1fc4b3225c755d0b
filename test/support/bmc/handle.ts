import { accept, type Bmc, next } from "./bmc.ts";
import { openCommand, sessionCommand } from "./commands.ts";
import { decrypt, isSigned, seal } from "./crypto.ts";
import { openSession, rakp1, rakp3 } from "./login.ts";
import {
  packet15,
  plain20,
  pong,
  readPacket,
  readRequest,
  type SimPacket,
  writeAnswer,
} from "./packet.ts";

type Packet15 = Extract<SimPacket, { readonly kind: "1.5" }>;
type Packet20 = Extract<SimPacket, { readonly kind: "2.0" }>;

/**
 * What the BMC answers to one datagram, and what that changes in it. Null: silence.
 * @param now milliseconds, of any clock that only goes forward
 * @param port of the sender
 */
export function handle(bmc: Bmc, datagram: Buffer, now: number, port = 0): Buffer | null {
  const { dead, noise, rmcpplus } = bmc.options;
  if (dead || noise !== null) return noise;
  const packet = readPacket(datagram);
  if (packet === null) return null;
  switch (packet.kind) {
    case "ping":
      return pong(packet.tag);
    case "1.5":
      return handle15(bmc, packet);
    case "2.0":
      return rmcpplus ? handle20(bmc, packet, now, port) : null;
  }
}

/** A question of the 1.5 format in nobody's session: of sessions of 1.5 it has none to give. */
function handle15(bmc: Bmc, { message }: Packet15): Buffer | null {
  const request = readRequest(message);
  const answer = request && openCommand(bmc, request);
  return request && answer && packet15(writeAnswer(request, answer));
}

function handle20(bmc: Bmc, packet: Packet20, now: number, port: number): Buffer | null {
  if (packet.session !== 0) return packet.type === 0 ? inSession(bmc, packet, now) : null;
  // Reserved bytes of a login.
  if (packet.type !== 0 && packet.payload.subarray(2, 4).some((byte) => byte !== 0)) return null;
  switch (packet.type) {
    case 0x00:
      return outside(bmc, packet);
    case 0x10:
      if (bmc.options.portOnce && bmc.ports.has(port)) return null;
      bmc.ports.add(port);
      return openSession(bmc, packet.payload, now);
    case 0x12:
      return rakp1(bmc, packet.payload, now);
    case 0x14:
      return rakp3(bmc, packet.payload, now);
    default:
      return null;
  }
}

function outside(bmc: Bmc, { payload }: Packet20): Buffer | null {
  const request = readRequest(payload);
  const answer = request && openCommand(bmc, request);
  if (request === null || answer === null) return null;
  return plain20(0, writeAnswer(request, answer));
}

function inSession(bmc: Bmc, packet: Packet20, now: number): Buffer | null {
  const session = bmc.sessions.get(packet.session);
  if (session?.stage !== "active") return null;
  const { suite, keys } = session;
  if (packet.authenticated !== (suite.integrity !== 0)) return null;
  if (packet.encrypted !== (suite.confidentiality !== 0)) return null;
  if (packet.authenticated && !isSigned(suite, keys, packet.whole)) return null;
  const seen = accept(session.seen, packet.sequence);
  if (seen === null) return null;
  const message = packet.encrypted ? decrypt(keys.cipher, packet.payload) : packet.payload;
  const request = message && readRequest(message);
  if (request === null) return null;
  session.seen = seen;
  session.usedAt = now;
  const answer = sessionCommand(bmc, session, request);
  if (answer === null || bmc.isSilent) return null;
  session.sent = next(session.sent);
  const wrong = bmc.options.wrongChecksums && suite.integrity !== 0;
  const written = writeAnswer(request, answer, wrong);
  return seal(suite, keys, written, session.theirId.readUInt32LE(0), session.sent);
}
