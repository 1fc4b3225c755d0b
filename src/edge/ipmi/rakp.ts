import { createHmac, timingSafeEqual } from "node:crypto";
import type { Suite } from "./suites.ts";

/** What both sides put into the hashes of one login. Session ids as on the wire, 4 bytes. */
export interface Login {
  readonly suite: Suite;
  /** Privilege with 0x10 for "look the name up, whatever its privilege". */
  readonly role: number;
  readonly user: Buffer;
  /** At most 20 bytes. */
  readonly password: Buffer;
  /** The BMC's second key, null when it is not known; it is in SIK only. */
  readonly kg: Buffer | null;
  readonly consoleSession: Buffer;
  readonly bmcSession: Buffer;
  readonly consoleRandom: Buffer;
  readonly bmcRandom: Buffer;
  readonly guid: Buffer;
}

/** The keys of one session; `forget` fills them with zeros. */
export interface Keys {
  readonly sik: Buffer;
  /** Signs. */
  readonly k1: Buffer;
  /** Its first 16 bytes encrypt. */
  readonly k2: Buffer;
}

/** The MAC a BMC that knows the password puts into RAKP 2. @source facts/ipmi.md 2.7, 4 */
export function rakp2Mac(login: Login): Buffer {
  const { consoleSession, bmcSession, consoleRandom, bmcRandom, guid } = login;
  return hmac(login.suite, login.password, [
    ...[consoleSession, bmcSession, consoleRandom, bmcRandom, guid],
    ...identity(login),
  ]);
}

/** The MAC of RAKP 3, by which the BMC knows us. @source facts/ipmi.md 2.7, 6 */
export function rakp3Mac(login: Login): Buffer {
  const parts = [login.bmcRandom, login.consoleSession, ...identity(login)];
  return hmac(login.suite, login.password, parts);
}

const FOR_K1 = [Buffer.alloc(20, 1)];
const FOR_K2 = [Buffer.alloc(20, 2)];

/** @source facts/ipmi.md 2.7, 5: both constants have 20 bytes with SHA256 too */
export function sessionKeys(login: Login): Keys {
  const { suite, consoleRandom, bmcRandom } = login;
  const sik = hmac(suite, login.kg ?? login.password, [
    consoleRandom,
    bmcRandom,
    ...identity(login),
  ]);
  return { sik, k1: hmac(suite, sik, FOR_K1), k2: hmac(suite, sik, FOR_K2) };
}

/** The check value of RAKP 4: differs when the BMC has another Kg. @source facts/ipmi.md 2.7, 7 */
export function rakp4Icv(login: Login, { sik }: Keys): Buffer {
  const parts = [login.consoleRandom, login.bmcSession, login.guid];
  return hmac(login.suite, sik, parts).subarray(0, login.suite.cutLength);
}

/** In constant time, over as many bytes as `wanted` has: some boards send more. Quirk Q7. */
export function startsWithMac(received: Buffer, wanted: Buffer): boolean {
  return (
    received.length >= wanted.length && timingSafeEqual(received.subarray(0, wanted.length), wanted)
  );
}

export function forget({ sik, k1, k2 }: Keys): void {
  for (const key of [sik, k1, k2]) key.fill(0);
}

export function hmac(suite: Suite, key: Buffer, parts: readonly Buffer[]): Buffer {
  const mac = createHmac(suite.hash, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

function identity({ role, user }: Login): readonly Buffer[] {
  return [Buffer.from([role, user.length]), user];
}
