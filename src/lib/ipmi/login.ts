import {
  forget,
  type Keys,
  type Rakp,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  type Suite,
  sessionKeys,
  startsWithMac,
} from "./crypto.ts";
import { type Attempt, LEVELS, type LoginFailure, type LoginStage } from "./policy.ts";
import type { Talk } from "./talk.ts";
import { PAYLOAD, type Packet, parsePacket, plain } from "./wire.ts";

/** RAKP 1 has no space for more, and ipmitool refuses longer names. */
const LONGEST_USER = 16;
/** Maximum length of password and Kg in IPMI 2.0. */
const LONGEST_KEY = 20;

/** `wipe` overwrites the secrets with zeros. */
export type Credentials = ReturnType<typeof credentials>;

/**
 * The password as `ipmitool -f` reads it: fgets of 20 bytes up to the first LF, then cut at the
 * first CR, LF or TAB, unless that is the first byte. A NUL also ends it.
 * @source ipmitool lib/ipmi_main.c ipmi_password_file_read; facts/ipmi.md 5.5
 */
function readAsFile(password: Buffer): Buffer {
  const line = password.indexOf(0x0a);
  const read = password.subarray(0, Math.min(LONGEST_KEY, line < 0 ? Infinity : line + 1));
  const end = read.indexOf(0x00);
  const text = end < 0 ? read : read.subarray(0, end);
  const stop = text.findIndex((byte) => byte === 0x09 || byte === 0x0a || byte === 0x0d);
  return Buffer.from(stop > 0 ? text.subarray(0, stop) : text);
}

/** Null for a valid user name. */
export function invalidUser(user: string): string | null {
  return Buffer.byteLength(user) > LONGEST_USER || user.includes("\0")
    ? `the user name is longer than ${LONGEST_USER} bytes or contains a NUL`
    : null;
}

/** @param user a valid name: see `invalidUser` */
export function credentials(user: string, password: string, kg: Uint8Array | null) {
  const bytes = Buffer.from(password, "utf8");
  const read = readAsFile(bytes);
  /** Whether ipmitool truncates the password. */
  const cut = read.length < bytes.length;
  bytes.fill(0);
  const key = kg === null ? null : Buffer.from(kg.subarray(0, LONGEST_KEY));
  return { user: Buffer.from(user, "utf8"), password: read, kg: key, cut };
}

export function wipe({ password, kg }: Credentials): void {
  password.fill(0);
  kg?.fill(0);
}

/** Requests have the BMC's session id, answers have ours. */
export interface OpenSession {
  /** Half-open: RAKP 4 is missing, but the BMC may have opened the session. */
  readonly kind: "open" | "half-open";
  readonly suite: Suite;
  readonly keys: Keys;
  readonly consoleId: number;
  readonly theirs: number;
}

/** Look up by name with any privilege, as ipmitool does. */
const NAME_ONLY = 0x10;
/** "No cipher suite matches the proposal." */
const NO_SUITE_MATCHES = 0x11;

/**
 * Opens a session. If RAKP 2 does not match the password, nothing more is sent, so the BMC counts
 * no failed login. No message is resent, because BMCs refuse repeats. Quirk Q1.
 * @param tag 0 to 255, new for each login, to detect late answers
 * @param wait milliseconds for each answer
 * @source facts/ipmi.md 2.7, 6.4
 */
export async function logIn(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
  { tag, wait }: { readonly tag: number; readonly wait: number },
): Promise<OpenSession | LoginFailure> {
  const { suite } = attempt;
  const consoleId = talk.newSession();
  const consoleSession = Buffer.alloc(4);
  consoleSession.writeUInt32LE(consoleId);
  const level = LEVELS[attempt.level];
  const ask = <T extends object>(
    datagram: Buffer,
    parse: (packet: Packet, tag: number, session: Buffer) => T | Refused | null,
    ending = false,
  ): Promise<T | Refused | null> =>
    talk.exchange(
      () => datagram,
      [wait],
      (reply) => {
        const packet = parsePacket(reply);
        return packet === null ? null : parse(packet, tag, consoleSession);
      },
      ending,
    );

  const first = messages.openRequest(tag, attempt.namesLevel ? level : 0, consoleSession, suite);
  const opened = await ask(first, messages.opened);
  if (opened === null || "status" in opened) return failed("Open Session", opened);
  if (opened.algorithms.some((algorithm, at) => algorithm !== suite.algorithms[at]))
    return { kind: "status", stage: "Open Session", status: NO_SUITE_MATCHES };

  const { user, password, kg } = credentials;
  const { bmcSession } = opened;
  const consoleRandom = talk.chance.bytes(16);
  const role = level | NAME_ONLY;
  const challenge = messages.rakp1(tag, { bmcSession, consoleRandom, role, user });
  const second = await ask(challenge, messages.rakp2);
  if (second === null || "status" in second) return failed("RAKP 2", second);
  const { bmcRandom, guid, mac } = second;
  if (mac.length < suite.macLength) return { kind: "odd", detail: "RAKP 2 is truncated" };
  const shared = { suite, role, user, password, kg, consoleSession, consoleRandom };
  const login: Rakp = { ...shared, bmcSession, bmcRandom, guid };
  if (!startsWithMac(mac, rakp2Mac(login))) return { kind: "mismatch", of: "password" };

  // The BMC now has a session, so wait for its answer even after an abort.
  const proof = messages.rakp3(tag, bmcSession, rakp3Mac(login));
  const third = await ask(proof, messages.rakp4, true);
  const names = { suite, consoleId, theirs: bmcSession.readUInt32LE() };
  if (third === null) return { kind: "half-open", keys: sessionKeys(login), ...names };
  if ("status" in third) return failed("RAKP 4", third);
  if (third.icv.length < suite.cutLength) return { kind: "odd", detail: "RAKP 4 is truncated" };
  const keys = sessionKeys(login);
  if (!startsWithMac(third.icv, rakp4Icv(login, keys))) {
    forget(keys);
    return { kind: "mismatch", of: "kg" };
  }
  return { kind: "open", keys, ...names };
}

function failed(stage: LoginStage, refused: Refused | null): LoginFailure {
  return refused === null
    ? { kind: "silent", stage }
    : { kind: "status", stage, status: refused.status };
}

/** RMCP+ status, never 0. */
type Refused = { readonly status: number };

/**
 * The messages of a login. An answer is null if it is truncated or not for this login (tag,
 * session).
 * @source facts/ipmi.md 2.7
 */
export const messages = {
  /** @param level highest privilege; 0 is the maximum for these algorithms */
  openRequest(tag: number, level: number, session: Buffer, suite: Suite): Buffer {
    const records = suite.algorithms.flatMap((algorithm, kind) => [
      ...[kind, 0, 0, 8],
      ...[algorithm, 0, 0, 0],
    ]);
    return message(PAYLOAD.openRequest, [tag, level, 0, 0], session, Buffer.from(records));
  },
  opened: parser([PAYLOAD.openResponse, 36], (payload) => ({
    bmcSession: Buffer.from(payload.subarray(8, 12)),
    algorithms: [16, 24, 32].map((at) => payload.readUInt8(at) & 0x3f),
  })),
  /** Role, then name length and name without padding. */
  rakp1(tag: number, of: Pick<Rakp, "bmcSession" | "consoleRandom" | "role" | "user">): Buffer {
    const identity = Buffer.from([of.role, 0, 0, of.user.length]);
    const parts = [of.bmcSession, of.consoleRandom, identity, of.user];
    return message(PAYLOAD.rakp1, [tag, 0, 0, 0], ...parts);
  },
  rakp2: parser([PAYLOAD.rakp2, 40], (payload) => ({
    bmcRandom: payload.subarray(8, 24),
    guid: payload.subarray(24, 40),
    mac: payload.subarray(40),
  })),
  rakp3: (tag: number, bmcSession: Buffer, mac: Buffer): Buffer =>
    message(PAYLOAD.rakp3, [tag, 0, 0, 0], bmcSession, mac),
  rakp4: parser([PAYLOAD.rakp4, 8], (payload) => ({ icv: payload.subarray(8) })),
};

function message(type: number, head: readonly number[], ...parts: readonly Buffer[]): Buffer {
  return plain(type, Buffer.concat([Buffer.from(head), ...parts]));
}

/**
 * A refusal may end after its status (ipmi_sim), or have zeros as session id.
 * @param least bytes of an answer that agrees
 */
function parser<T>(
  [expectedType, least]: readonly [type: number, least: number],
  read: (payload: Buffer) => T,
) {
  return (packet: Packet, tag: number, session: Buffer): T | Refused | null => {
    const { type, signed, encrypted, payload } = packet;
    if (type !== expectedType || signed || encrypted) return null;
    if (payload.length < 2 || payload[0] !== tag) return null;
    const isMatching = payload.length >= 8 && payload.subarray(4, 8).equals(session);
    const unnamed = payload.length < 8 || payload.readUInt32LE(4) === 0;
    const status = payload.readUInt8(1);
    if (status === 0) return isMatching && payload.length >= least ? read(payload) : null;
    return isMatching || unnamed ? { status } : null;
  };
}
