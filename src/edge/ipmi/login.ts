import type { Credentials } from "./credentials.ts";
import {
  openRequest,
  parseOpened,
  parseRakp2,
  parseRakp4,
  type Refused,
  rakp1,
  rakp3,
} from "./handshake.ts";
import { type Attempt, LEVELS, type Outcome, type Stage } from "./outcome.ts";
import {
  forget,
  type Keys,
  type Login,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  sessionKeys,
  startsWithMac,
} from "./rakp.ts";
import { type Packet, parsePacket } from "./rmcpplus.ts";
import type { Suite } from "./suites.ts";
import type { Talk } from "./talk.ts";

/** An open session: requests carry the BMC's number, answers carry ours. */
export interface Session {
  readonly kind: "open";
  readonly suite: Suite;
  readonly keys: Keys;
  readonly ours: number;
  readonly theirs: number;
}

/** RAKP 4 did not come, and the BMC may have opened the session all the same. */
export interface HalfOpen extends Omit<Session, "kind"> {
  readonly kind: "half-open";
}

/** Look the name up whatever its privilege, as ipmitool does. */
const NAME_ONLY = 0x10;
/** "No cipher suite matches what was proposed." */
const NO_SUITE_MATCHES = 0x11;

/**
 * Opens a session, or tells why not. When the BMC does not know the password, nothing is sent after
 * RAKP 2: so it counts no failed login.
 *
 * No message of a login is sent twice: a BMC refuses repeats. Quirk Q1.
 *
 * @param tag 0 to 255, new for each login: late answers to another one are told by it
 * @param wait milliseconds for each answer
 * @source facts/ipmi.md 2.7, 6.4
 */
export async function logIn(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
  { tag, wait }: { readonly tag: number; readonly wait: number },
): Promise<Session | HalfOpen | Outcome> {
  const { suite } = attempt;
  const ours = talk.newSession();
  const consoleSession = Buffer.alloc(4);
  consoleSession.writeUInt32LE(ours);
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

  const first = openRequest(tag, attempt.namesLevel ? level : 0, consoleSession, suite);
  const opened = await ask(first, parseOpened);
  if (opened === null || "status" in opened) return failed("Open Session", opened);
  if (opened.algorithms.some((algorithm, at) => algorithm !== suite.algorithms[at]))
    return { kind: "status", stage: "Open Session", status: NO_SUITE_MATCHES };

  const { user, password, kg } = credentials;
  const { bmcSession } = opened;
  const consoleRandom = talk.chance.bytes(16);
  const role = level | NAME_ONLY;
  const second = await ask(rakp1(tag, { bmcSession, consoleRandom, role, user }), parseRakp2);
  if (second === null || "status" in second) return failed("RAKP 2", second);
  const { bmcRandom, guid, mac } = second;
  if (mac.length < suite.macLength) return { kind: "odd", words: "RAKP 2 is cut short" };
  const shared = { suite, role, user, password, kg, consoleSession, consoleRandom };
  const login: Login = { ...shared, bmcSession, bmcRandom, guid };
  if (!startsWithMac(mac, rakp2Mac(login))) return { kind: "mismatch", of: "password" };

  // From here on the BMC has a session, so its answer is waited for even when all is to stop.
  const third = await ask(rakp3(tag, bmcSession, rakp3Mac(login)), parseRakp4, true);
  const names = { suite, ours, theirs: bmcSession.readUInt32LE() };
  if (third === null) return { kind: "half-open", keys: sessionKeys(login), ...names };
  if ("status" in third) return failed("RAKP 4", third);
  if (third.icv.length < suite.cutLength) return { kind: "odd", words: "RAKP 4 is cut short" };
  const keys = sessionKeys(login);
  if (!startsWithMac(third.icv, rakp4Icv(login, keys))) {
    forget(keys);
    return { kind: "mismatch", of: "kg" };
  }
  return { kind: "open", keys, ...names };
}

function failed(stage: Stage, refused: Refused | null): Outcome {
  return refused === null
    ? { kind: "silent", stage }
    : { kind: "status", stage, status: refused.status };
}
