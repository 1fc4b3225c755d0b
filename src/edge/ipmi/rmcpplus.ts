import { createCipheriv, createDecipheriv } from "node:crypto";
import { hmac, type Keys, startsWithMac } from "./rakp.ts";
import { AUTH_RMCPPLUS, authTypeOf, RMCP } from "./rmcp.ts";
import type { Suite } from "./suites.ts";

/** @source facts/ipmi.md 2.5 */
export const PAYLOAD = {
  ipmi: 0x00,
  openRequest: 0x10,
  openResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const;

export interface Packet {
  /** Payload type without its two flags. */
  readonly type: number;
  readonly signed: boolean;
  readonly encrypted: boolean;
  readonly session: number;
  readonly payload: Buffer;
  /** From authType on, trailer included: what a signature stands over. */
  readonly body: Buffer;
}

/** RMCP 4, authType 1, payload type 1, session 4, sequence 4, length 2. */
export const HEADER = 16;
const OEM_EXPLICIT = 0x02;
const SIGNED = 0x40;
const ENCRYPTED = 0x80;
const BLOCK = 16;

/** A packet that is neither signed nor encrypted; outside sessions `session` and `sequence` are 0. */
export function plain(type: number, payload: Uint8Array, session = 0, sequence = 0): Buffer {
  const packet = Buffer.alloc(HEADER + payload.length);
  putHeader(packet, type, payload.length, session, sequence);
  packet.set(payload, HEADER);
  return packet;
}

function putHeader(
  packet: Buffer,
  type: number,
  length: number,
  session: number,
  sequence: number,
): void {
  packet.set(RMCP);
  packet[4] = AUTH_RMCPPLUS;
  packet[5] = type;
  packet.writeUInt32LE(session, 6);
  packet.writeUInt32LE(sequence, 10);
  packet.writeUInt16LE(length, 14);
}

/** An IPMI message as the session's suite wants it. @param iv 16 random bytes */
export function seal(
  to: { readonly suite: Suite; readonly keys: Keys; readonly session: number },
  sequence: number,
  message: Buffer,
  iv: Buffer,
): Buffer {
  const { suite, keys } = to;
  const flags = (suite.signed ? SIGNED : 0) | (suite.encrypted ? ENCRYPTED : 0);
  const payload = suite.encrypted ? encrypt(keys, message, iv) : message;
  const type = PAYLOAD.ipmi | flags;
  if (!suite.signed) return plain(type, payload, to.session, sequence);
  const end = HEADER + payload.length;
  const pad = -(end - RMCP.length + 2) & 3;
  const packet = Buffer.alloc(end + pad + 2 + suite.cutLength, 0xff);
  putHeader(packet, type, payload.length, to.session, sequence);
  packet.set(payload, HEADER);
  packet[end + pad] = pad;
  packet[end + pad + 1] = 0x07;
  const mac = hmac(suite, keys.k1, [packet.subarray(RMCP.length, end + pad + 2)]);
  mac.copy(packet, end + pad + 2, 0, suite.cutLength);
  return packet;
}

/** Whether a datagram is a whole 2.0 packet of a type that is read here. */
export function isPacket(datagram: Buffer): boolean {
  if (authTypeOf(datagram) !== AUTH_RMCPPLUS || datagram.length < HEADER) return false;
  const type = datagram.readUInt8(5) & 0x3f;
  return type !== OEM_EXPLICIT && datagram.length >= HEADER + datagram.readUInt16LE(14);
}

/** The parts of a 2.0 datagram, or null when it is none. Nothing in it is proven yet. */
export function parsePacket(datagram: Buffer): Packet | null {
  if (!isPacket(datagram)) return null;
  const kind = datagram.readUInt8(5);
  const length = datagram.readUInt16LE(14);
  return {
    type: kind & 0x3f,
    signed: (kind & SIGNED) !== 0,
    encrypted: (kind & ENCRYPTED) !== 0,
    session: datagram.readUInt32LE(6),
    payload: datagram.subarray(HEADER, HEADER + length),
    body: datagram.subarray(RMCP.length),
  };
}

/**
 * The message in a packet of a session: the signature is compared first, then it is decrypted.
 * Null when it is not signed or encrypted as the suite wants, or any of it does not fit.
 */
export function open(suite: Suite, keys: Keys, packet: Packet): Buffer | null {
  if (packet.signed !== suite.signed || packet.encrypted !== suite.encrypted) return null;
  if (suite.signed && !isSigned(suite, keys, packet)) return null;
  return suite.encrypted ? decrypt(keys, packet.payload) : packet.payload;
}

function isSigned(suite: Suite, keys: Keys, { body, payload }: Packet): boolean {
  const end = body.length - suite.cutLength;
  const trailer = HEADER - RMCP.length + payload.length;
  if (end < trailer + 2 || trailer + (body[end - 2] ?? 0) + 2 !== end) return false;
  const mac = hmac(suite, keys.k1, [body.subarray(0, end)]);
  return startsWithMac(body.subarray(end), mac.subarray(0, suite.cutLength));
}

/** Padding is 1, 2, 3 .. and its length, so that it is no PKCS#7. */
function encrypt({ k2 }: Keys, message: Buffer, iv: Buffer): Buffer {
  const pad = -(message.length + 1) & (BLOCK - 1);
  const clear = Buffer.alloc(message.length + pad + 1);
  clear.set(message);
  for (let at = 0; at < pad; at++) clear[message.length + at] = at + 1;
  clear[clear.length - 1] = pad;
  const cipher = createCipheriv("aes-128-cbc", k2.subarray(0, BLOCK), iv).setAutoPadding(false);
  // Whole blocks come out of update; without padding nothing is left for final.
  return Buffer.concat([iv, cipher.update(clear)]);
}

function decrypt({ k2 }: Keys, payload: Buffer): Buffer | null {
  if (payload.length < 2 * BLOCK || payload.length % BLOCK !== 0) return null;
  const iv = payload.subarray(0, BLOCK);
  const cipher = createDecipheriv("aes-128-cbc", k2.subarray(0, BLOCK), iv).setAutoPadding(false);
  const clear = cipher.update(payload.subarray(BLOCK));
  const pad = clear.readUInt8(clear.length - 1);
  return pad >= BLOCK ? null : clear.subarray(0, clear.length - 1 - pad);
}
