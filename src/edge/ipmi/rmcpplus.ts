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
const HEADER = 16;
const OEM_EXPLICIT = 0x02;
const SIGNED = 0x40;
const ENCRYPTED = 0x80;
const BLOCK = 16;

/** A packet that is neither signed nor encrypted; outside sessions `session` and `sequence` are 0. */
export function plain(type: number, payload: Uint8Array, session = 0, sequence = 0): Buffer {
  const header = Buffer.alloc(HEADER);
  header.set(RMCP);
  header[4] = AUTH_RMCPPLUS;
  header[5] = type;
  header.writeUInt32LE(session, 6);
  header.writeUInt32LE(sequence, 10);
  header.writeUInt16LE(payload.length, 14);
  return Buffer.concat([header, payload]);
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
  const packet = plain(PAYLOAD.ipmi | flags, payload, to.session, sequence);
  if (!suite.signed) return packet;
  const pad = -(packet.length - RMCP.length + 2) & 3;
  const signed = Buffer.concat([packet, Buffer.alloc(pad, 0xff), Buffer.from([pad, 0x07])]);
  const mac = hmac(suite, keys.k1, [signed.subarray(RMCP.length)]);
  return Buffer.concat([signed, mac.subarray(0, suite.cutLength)]);
}

/** The parts of a 2.0 datagram, or null when it is none. Nothing in it is proven yet. */
export function parsePacket(datagram: Buffer): Packet | null {
  if (authTypeOf(datagram) !== AUTH_RMCPPLUS || datagram.length < HEADER) return null;
  const kind = datagram.readUInt8(5);
  const length = datagram.readUInt16LE(14);
  const type = kind & 0x3f;
  if (type === OEM_EXPLICIT || datagram.length < HEADER + length) return null;
  return {
    type,
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
  const padding = Uint8Array.from({ length: pad + 1 }, (_, at) => (at === pad ? pad : at + 1));
  const cipher = createCipheriv("aes-128-cbc", k2.subarray(0, BLOCK), iv).setAutoPadding(false);
  return Buffer.concat([iv, cipher.update(message), cipher.update(padding), cipher.final()]);
}

function decrypt({ k2 }: Keys, payload: Buffer): Buffer | null {
  if (payload.length < 2 * BLOCK || payload.length % BLOCK !== 0) return null;
  const iv = payload.subarray(0, BLOCK);
  const cipher = createDecipheriv("aes-128-cbc", k2.subarray(0, BLOCK), iv).setAutoPadding(false);
  const clear = Buffer.concat([cipher.update(payload.subarray(BLOCK)), cipher.final()]);
  const pad = clear.readUInt8(clear.length - 1);
  return pad >= BLOCK ? null : clear.subarray(0, clear.length - 1 - pad);
}
