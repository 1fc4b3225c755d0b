import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { ENCRYPTED, HEADER, PAYLOAD, type Packet, plain, putHeader, RMCP, SIGNED } from "./wire.ts";

/** Authentication, integrity and confidentiality algorithms. */
export type Suite = ReturnType<typeof suite>;

/** Suite 0 has no authentication and is never used. @source facts/ipmi.md 2.6 */
const SUITES: readonly Suite[] = [
  suite("sha1", 1, false, false),
  suite("sha1", 2, true, false),
  suite("sha1", 3, true, true),
  suite("sha256", 15, false, false),
  suite("sha256", 16, true, false),
  suite("sha256", 17, true, true),
];

/** Null for an unsupported suite: 0, MD5 and xRC4. */
export function suiteOf(id: number): Suite | null {
  return SUITES.find((suite) => suite.id === id) ?? null;
}

/** @param hash of RAKP-HMAC-SHA1 (1) or RAKP-HMAC-SHA256 (3) */
function suite(hash: "sha1" | "sha256", id: number, signed: boolean, encrypted: boolean) {
  const [authentication, integrity] = hash === "sha1" ? [1, 1] : [3, 4];
  return {
    ...{ id, hash, signed, encrypted },
    /** Bytes of a MAC, and of the truncated MAC in RAKP 4 and trailers. */
    macLength: hash === "sha1" ? 20 : 32,
    cutLength: hash === "sha1" ? 12 : 16,
    /** Algorithm numbers in Open Session: authentication, integrity, confidentiality. */
    algorithms: [authentication, signed ? integrity : 0, encrypted ? 1 : 0] as const,
  };
}

/** Input of the hashes of one login. Session ids are 4 bytes as on the wire. */
export interface Rakp {
  readonly suite: Suite;
  /** Privilege, with 0x10 for a lookup by name only. */
  readonly role: number;
  readonly user: Buffer;
  /** At most 20 bytes. */
  readonly password: Buffer;
  /** BMC key, if known. Used for SIK only. */
  readonly kg: Buffer | null;
  readonly consoleSession: Buffer;
  readonly bmcSession: Buffer;
  readonly consoleRandom: Buffer;
  readonly bmcRandom: Buffer;
  readonly guid: Buffer;
}

/** Session keys. `forget` overwrites them with zeros. */
export type Keys = ReturnType<typeof sessionKeys>;

/** MAC of RAKP 2, which proves that the BMC knows the password. @source facts/ipmi.md 2.7, 4 */
export function rakp2Mac(login: Rakp): Buffer {
  const { consoleSession, bmcSession, consoleRandom, bmcRandom, guid } = login;
  return hmac(login.suite, login.password, [
    ...[consoleSession, bmcSession, consoleRandom, bmcRandom, guid],
    ...identity(login),
  ]);
}

/** MAC of RAKP 3, which proves that we know it. @source facts/ipmi.md 2.7, 6 */
export function rakp3Mac(login: Rakp): Buffer {
  const parts = [login.bmcRandom, login.consoleSession, ...identity(login)];
  return hmac(login.suite, login.password, parts);
}

const FOR_K1 = [Buffer.alloc(20, 1)];
const FOR_K2 = [Buffer.alloc(20, 2)];

/** Both constants have 20 bytes, also with SHA256. @source facts/ipmi.md 2.7, 5 */
export function sessionKeys(login: Rakp) {
  const { suite, consoleRandom, bmcRandom } = login;
  const sik = hmac(suite, login.kg ?? login.password, [
    consoleRandom,
    bmcRandom,
    ...identity(login),
  ]);
  // k1 is the integrity key. The first 16 bytes of k2 are the encryption key.
  return { sik, k1: hmac(suite, sik, FOR_K1), k2: hmac(suite, sik, FOR_K2) };
}

/** Integrity check value of RAKP 4. It differs if the Kg is wrong. @source facts/ipmi.md 2.7, 7 */
export function rakp4Icv(login: Rakp, { sik }: Keys): Buffer {
  const parts = [login.consoleRandom, login.bmcSession, login.guid];
  return hmac(login.suite, sik, parts).subarray(0, login.suite.cutLength);
}

/** In constant time, over the expected length, because some boards send more. Quirk Q7. */
export function startsWithMac(received: Buffer, mac: Buffer): boolean {
  return received.length >= mac.length && timingSafeEqual(received.subarray(0, mac.length), mac);
}

export function forget({ sik, k1, k2 }: Keys): void {
  for (const key of [sik, k1, k2]) key.fill(0);
}

function hmac(suite: Suite, key: Buffer, parts: readonly Buffer[]): Buffer {
  const mac = createHmac(suite.hash, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

function identity({ role, user }: Rakp): readonly Buffer[] {
  return [Buffer.from([role, user.length]), user];
}

const BLOCK = 16;

/** Signs and encrypts an IPMI message as the suite requires. @param iv 16 random bytes */
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

/** Verifies the signature, then decrypts. Null if the packet does not match the suite. */
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

/** Padding is 1, 2, 3 .. and its length, which is not PKCS#7. */
function encrypt({ k2 }: Keys, message: Buffer, iv: Buffer): Buffer {
  const pad = -(message.length + 1) & (BLOCK - 1);
  const clear = Buffer.alloc(message.length + pad + 1);
  clear.set(message);
  for (let at = 0; at < pad; at++) clear[message.length + at] = at + 1;
  clear[clear.length - 1] = pad;
  const cipher = createCipheriv("aes-128-cbc", k2.subarray(0, BLOCK), iv).setAutoPadding(false);
  // update() returns whole blocks. Without padding, final() returns nothing.
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
