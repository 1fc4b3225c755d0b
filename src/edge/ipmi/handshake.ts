import { PAYLOAD, type Packet, plain } from "./rmcpplus.ts";
import type { Suite } from "./suites.ts";

/** The answers of a login: what they hold when the BMC agrees, or why it does not. */
export type Opened = { readonly bmcSession: Buffer; readonly algorithms: readonly number[] };
export type Rakp2 = { readonly bmcRandom: Buffer; readonly guid: Buffer; readonly mac: Buffer };
export type Rakp4 = { readonly icv: Buffer };
/** RMCP+ status, never 0. */
export type Refused = { readonly status: number };

/** @param level highest privilege wanted; 0 is "the highest these algorithms allow" */
export function openRequest(tag: number, level: number, session: Buffer, suite: Suite): Buffer {
  const records = suite.algorithms.flatMap((algorithm, kind) => [
    ...[kind, 0, 0, 8],
    ...[algorithm, 0, 0, 0],
  ]);
  return plain(
    PAYLOAD.openRequest,
    Buffer.concat([Buffer.from([tag, level, 0, 0]), session, Buffer.from(records)]),
  );
}

/** @source facts/ipmi.md 2.7, 3: role, then the name's length and the name, not padded */
export function rakp1(
  tag: number,
  of: {
    readonly bmcSession: Buffer;
    readonly consoleRandom: Buffer;
    readonly role: number;
    readonly user: Buffer;
  },
): Buffer {
  const identity = Buffer.from([of.role, 0, 0, of.user.length]);
  return plain(
    PAYLOAD.rakp1,
    Buffer.concat([
      ...[Buffer.from([tag, 0, 0, 0]), of.bmcSession],
      ...[of.consoleRandom, identity, of.user],
    ]),
  );
}

export function rakp3(tag: number, bmcSession: Buffer, mac: Buffer): Buffer {
  return plain(PAYLOAD.rakp3, Buffer.concat([Buffer.from([tag, 0, 0, 0]), bmcSession, mac]));
}

/** Null when it is not for this login (tag, session) or is cut short. */
export function parseOpened(packet: Packet, tag: number, session: Buffer): Opened | Refused | null {
  const { payload } = packet;
  const refused = statusOf(packet, PAYLOAD.openResponse, tag, session);
  if (refused !== "agrees" || payload.length < 36) return asRefusal(refused);
  return {
    bmcSession: Buffer.from(payload.subarray(8, 12)),
    algorithms: [16, 24, 32].map((at) => payload.readUInt8(at) & 0x3f),
  };
}

export function parseRakp2(packet: Packet, tag: number, session: Buffer): Rakp2 | Refused | null {
  const { payload } = packet;
  const refused = statusOf(packet, PAYLOAD.rakp2, tag, session);
  if (refused !== "agrees" || payload.length < 40) return asRefusal(refused);
  const [bmcRandom, guid] = [payload.subarray(8, 24), payload.subarray(24, 40)];
  return { bmcRandom, guid, mac: payload.subarray(40) };
}

export function parseRakp4(packet: Packet, tag: number, session: Buffer): Rakp4 | Refused | null {
  const refused = statusOf(packet, PAYLOAD.rakp4, tag, session);
  return refused === "agrees" ? { icv: packet.payload.subarray(8) } : asRefusal(refused);
}

function asRefusal(refused: Refused | "agrees" | null): Refused | null {
  return refused === "agrees" ? null : refused;
}

/**
 * A refusal may be cut to its tag and status (ipmi_sim), or have zeros where our session id
 * stands; an agreement names our session.
 */
function statusOf(
  { type, signed, encrypted, payload }: Packet,
  wanted: number,
  tag: number,
  session: Buffer,
): Refused | "agrees" | null {
  if (type !== wanted || signed || encrypted) return null;
  if (payload.length < 2 || payload[0] !== tag) return null;
  const ours = payload.length >= 8 && payload.subarray(4, 8).equals(session);
  const unnamed = payload.length < 8 || payload.readUInt32LE(4) === 0;
  const status = payload.readUInt8(1);
  if (status === 0) return ours ? "agrees" : null;
  return ours || unnamed ? { status } : null;
}
