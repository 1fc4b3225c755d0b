import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { header20 } from "./packet.ts";

/** Tags of the three algorithms of a cipher suite as they go over the wire, and what they mean. */
export interface SimSuite {
  readonly id: number;
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** Null for suite 0, which authenticates nobody. */
  readonly hash: "sha1" | "sha256" | null;
  /** Bytes of the codes in RAKP2 and RAKP3. */
  readonly fullCode: number;
  /** Bytes of the code in RAKP4 and after each packet. */
  readonly shortCode: number;
}

const SHA1 = { authentication: 1, hash: "sha1", fullCode: 20, shortCode: 12 } as const;
const SHA256 = { authentication: 3, hash: "sha256", fullCode: 32, shortCode: 16 } as const;

export const SUITES: readonly SimSuite[] = [
  {
    ...{ id: 0, authentication: 0, integrity: 0, confidentiality: 0 },
    ...{ hash: null, fullCode: 0, shortCode: 0 },
  },
  { id: 1, integrity: 0, confidentiality: 0, ...SHA1 },
  { id: 2, integrity: 1, confidentiality: 0, ...SHA1 },
  { id: 3, integrity: 1, confidentiality: 1, ...SHA1 },
  { id: 15, integrity: 0, confidentiality: 0, ...SHA256 },
  { id: 16, integrity: 4, confidentiality: 0, ...SHA256 },
  { id: 17, integrity: 4, confidentiality: 1, ...SHA256 },
];

/** Bytes of the records that Get Channel Cipher Suites tells for these suites. */
export function suiteRecords(ids: readonly number[]): Buffer {
  const records = ids.map((id) => {
    const suite = SUITES.find((one) => one.id === id);
    const { authentication = 0, integrity = 0, confidentiality = 0 } = suite ?? {};
    return [0xc0, id, authentication, 0x40 | integrity, 0x80 | confidentiality];
  });
  return Buffer.from(records.flat());
}

export function suiteOf(authentication: number, integrity: number, confidentiality: number) {
  return SUITES.find(
    (suite) =>
      suite.authentication === authentication &&
      suite.integrity === integrity &&
      suite.confidentiality === confidentiality,
  );
}

/** Of one session; empty when the suite is 0. */
export interface SimKeys {
  readonly session: Buffer;
  readonly integrity: Buffer;
  readonly cipher: Buffer;
}

const NONE = Buffer.alloc(0);
export const NO_KEYS: SimKeys = { session: NONE, integrity: NONE, cipher: NONE };

/** HMAC of the suite over the parts; nothing when the suite has no authentication. */
export function code(suite: SimSuite, key: Buffer, ...parts: readonly Buffer[]): Buffer {
  if (suite.hash === null) return NONE;
  const hmac = createHmac(suite.hash, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** @param key Kg, or the user's password when the BMC has none; @param parts Rm, Rc, role and name */
export function sessionKeys(suite: SimSuite, key: Buffer, ...parts: readonly Buffer[]): SimKeys {
  if (suite.hash === null) return NO_KEYS;
  const session = code(suite, key, ...parts);
  return {
    session,
    integrity: code(suite, session, Buffer.alloc(20, 1)),
    cipher: code(suite, session, Buffer.alloc(20, 2)).subarray(0, 16),
  };
}

/** A packet of an open session, encrypted and signed as its suite says. */
export function seal(
  suite: SimSuite,
  keys: SimKeys,
  message: Buffer,
  session: number,
  sequence: number,
): Buffer {
  const payload = suite.confidentiality === 0 ? message : encrypt(keys.cipher, message, sequence);
  const bits = (suite.confidentiality === 0 ? 0 : 0x80) | (suite.integrity === 0 ? 0 : 0x40);
  const packet = Buffer.concat([header20(bits, payload.length, session, sequence), payload]);
  if (suite.integrity === 0) return packet;
  const padding = (4 - ((packet.length - 4 + 2) % 4)) % 4;
  const trailer = Buffer.from([...new Array<number>(padding).fill(0xff), padding, 0x07]);
  const signed = Buffer.concat([packet, trailer]);
  const mac = code(suite, keys.integrity, signed.subarray(4)).subarray(0, suite.shortCode);
  return Buffer.concat([signed, mac]);
}

/** Whether the last bytes are the code over all before. @param whole from the authentication type on */
export function isSigned(suite: SimSuite, keys: SimKeys, whole: Buffer): boolean {
  const at = whole.length - suite.shortCode;
  if (at < 14 || whole[at - 1] !== 0x07) return false;
  const expected = code(suite, keys.integrity, whole.subarray(0, at));
  return same(whole.subarray(at), expected.subarray(0, suite.shortCode));
}

/** Null when it was not encrypted with this key. */
export function decrypt(key: Buffer, payload: Buffer): Buffer | null {
  if (payload.length < 32 || payload.length % 16 !== 0) return null;
  const decipher = createDecipheriv("aes-128-cbc", key, payload.subarray(0, 16));
  decipher.setAutoPadding(false);
  const clear = Buffer.concat([decipher.update(payload.subarray(16)), decipher.final()]);
  const padding = clear.readUInt8(clear.length - 1);
  const end = clear.length - 1 - padding;
  if (padding > 15 || end < 0) return null;
  for (let at = 0; at < padding; at++) if (clear[end + at] !== at + 1) return null;
  return clear.subarray(0, end);
}

export function same(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function encrypt(key: Buffer, message: Buffer, sequence: number): Buffer {
  const padding = (16 - ((message.length + 1) % 16)) % 16;
  const tail = Buffer.from([...Array.from({ length: padding }, (_, at) => at + 1), padding]);
  const vector = Buffer.alloc(16, sequence);
  const cipher = createCipheriv("aes-128-cbc", key, vector).setAutoPadding(false);
  return Buffer.concat([vector, cipher.update(message), cipher.update(tail), cipher.final()]);
}
