import { createHash } from "node:crypto";
import type { SimKeys, SimSuite } from "./crypto.ts";
import type { BmcOptions, Privilege, User } from "./options.ts";
import type { SimAnswer, SimRequest } from "./packet.ts";

/** A command that is none of those that read, or open and close a session. */
export interface OtherCommand {
  readonly address: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Network function and number in hex: `06/02`. */
  readonly command: string;
  /** In hex. */
  readonly data: string;
  /** Of the session it came in; empty outside any. */
  readonly user: string;
}

/** What a BMC answers to such a command; undefined: that it does not know it. */
export type OnOther = (
  bmc: Bmc,
  session: SimSession | null,
  request: SimRequest,
) => SimAnswer | undefined;

/** A session from Open Session on. */
export interface SimSession {
  readonly id: number;
  stage: "opened" | "challenged" | "active";
  user: User | null;
  /** Level of its commands now. */
  privilege: number;
  /** Milliseconds; by the clock `handle` is given. */
  usedAt: number;
  readonly suite: SimSuite;
  readonly theirId: Buffer;
  readonly ourId: Buffer;
  readonly openPrivilege: number;
  keys: SimKeys;
  consoleRandom: Buffer;
  random: Buffer;
  /** Role, length of the name, name: as they go into the codes. */
  identity: Buffer;
  /** The last answer of the login, in case the question comes again. */
  last: Buffer | null;
  seen: SeenSequences;
  sent: number;
}

/** Sequence numbers that came in: the highest, and a bit for each of the 16 up to it. */
interface SeenSequences {
  readonly highest: number;
  readonly bits: number;
}

export type Bmc = ReturnType<typeof newBmc>;

export function newBmc(address: string, options: BmcOptions, onOther: OnOther) {
  return {
    address,
    guid: createHash("md5").update(address).digest(),
    options,
    power: options.power,
    busyLeft: options.busy?.times ?? 0,
    /** Whether it was asked for its list, after which some say nothing in a session. */
    isSilent: false,
    sessions: new Map<number, SimSession>(),
    lastId: 0x200,
    counts: newCounts(),
    /** Commands in sessions, and roles of RAKP1, in their order. */
    seen: [] as string[],
    roles: [] as number[],
    /** Of those that opened a session. */
    ports: new Set<number>(),
    onOther,
  };
}

export function newCounts() {
  return {
    ...{ received: 0, sent: 0, dropped: 0 },
    ...{ capabilities: 0, lists: 0, opens: 0, refusedOpens: 0, rakp1: 0, rakp3: 0 },
    ...{ logins: 0, badLogins: 0, statusReads: 0, closes: 0 },
  };
}

export type Counts = ReturnType<typeof newCounts>;

export function userOf(bmc: Bmc, name: string): User | null {
  return bmc.options.users.find((user) => user.name === name) ?? null;
}

export function limitOf(user: User | null): Privilege {
  return user?.limit ?? 4;
}

/** The first 20 bytes: what an IPMI 2.0 BMC can hold. */
export function passwordOf(user: User | null): Buffer {
  return Buffer.from(user?.password ?? "").subarray(0, 20);
}

/** Milliseconds after which a session nobody used is forgotten. */
const IDLE_MS = 30_000;

/** Forgets idle sessions, and tells whether there is room for one more. */
export function hasRoom(bmc: Bmc, now: number): boolean {
  for (const session of bmc.sessions.values())
    if (now - session.usedAt > IDLE_MS) bmc.sessions.delete(session.id);
  return bmc.sessions.size < bmc.options.sessionLimit;
}

/**
 * What is seen after this sequence number; null when it came before, is 0, or is more than 15 away from the highest:
 * then the packet is dropped.
 * @source ipmi_sim accepts 16 below to 15 above for 2.0 sessions (openipmi, lanserv_ipmi.c)
 */
export function accept({ highest, bits }: SeenSequences, sequence: number): SeenSequences | null {
  if (sequence === 0) return null;
  const ahead = (sequence - highest) | 0;
  if (ahead > 15 || ahead < -15) return null;
  if (ahead > 0) return { highest: sequence, bits: ((bits << ahead) | 1) & 0xffff };
  const bit = 1 << -ahead;
  return (bits & bit) === 0 ? { highest, bits: bits | bit } : null;
}

/** The next number to send; 0 is skipped. */
export function next(sequence: number): number {
  return sequence === 0xffff_ffff ? 1 : sequence + 1;
}
