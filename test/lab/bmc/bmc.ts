import { createHash } from "node:crypto";
import type { Keys } from "./crypto.ts";
import type { BmcOptions, Privilege, User } from "./options.ts";
import type { Suite } from "./suites.ts";

/** What a BMC has seen, since it started. */
export interface Counts {
  /** Datagrams that reached it, those the network lost not counted. */
  received: number;
  sent: number;
  /** Lost on either way by the fault options. */
  dropped: number;
  opens: number;
  rakp1: number;
  rakp3: number;
  logins: number;
  /** Refused at RAKP3: what a lock-out would count. */
  badLogins: number;
  statusReads: number;
  busyAnswers: number;
  closes: number;
}

/** A command that could change power. */
export interface PowerCommand {
  readonly address: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly command: "off" | "on" | "cycle" | "reset" | "nmi" | "soft";
  readonly user: string;
}

/** A 2.0 session from Open Session on, or a 1.5 session from its challenge on. */
export interface Session {
  readonly id: number;
  stage: "opened" | "challenged" | "active";
  user: User | null;
  /** Level of its commands now. */
  privilege: number;
  /** Milliseconds; by the clock `handle` is given. */
  usedAt: number;
  readonly protocol: Rmcpp | Legacy;
}

export interface Rmcpp {
  readonly kind: "2.0";
  readonly suite: Suite;
  readonly theirId: Buffer;
  readonly ourId: Buffer;
  readonly openPrivilege: number;
  keys: Keys;
  consoleRandom: Buffer;
  random: Buffer;
  /** Role, length of the name, name: as they go into the codes. */
  identity: Buffer;
  /** The last answer of the login, in case the question comes again. */
  last: Buffer | null;
  seen: Seen;
  sent: number;
}

export interface Legacy {
  readonly kind: "1.5";
  readonly challenge: Buffer;
  authType: number;
  inbound: number;
  outbound: number;
}

/** Sequence numbers that came in: the highest, and a bit for each of the 16 up to it. */
export interface Seen {
  readonly highest: number;
  readonly bits: number;
}

export interface Bmc {
  readonly address: string;
  readonly guid: Buffer;
  options: BmcOptions;
  power: boolean;
  /** How many busy answers are left. */
  busyLeft: number;
  readonly sessions: Map<number, Session>;
  readonly counts: Counts;
  readonly onPowerCommand: (command: PowerCommand) => void;
}

export function newBmc(
  address: string,
  options: BmcOptions,
  onPowerCommand: Bmc["onPowerCommand"],
): Bmc {
  return {
    address,
    guid: createHash("md5").update(address).digest(),
    options,
    power: options.power,
    busyLeft: options.busy?.times ?? 0,
    sessions: new Map(),
    counts: newCounts(),
    onPowerCommand,
  };
}

export function newCounts(): Counts {
  return {
    ...{ received: 0, sent: 0, dropped: 0 },
    ...{ opens: 0, rakp1: 0, rakp3: 0, logins: 0, badLogins: 0 },
    ...{ statusReads: 0, busyAnswers: 0, closes: 0 },
  };
}

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

/** Forgets idle sessions, and tells whether there is room for one more. */
export function hasRoom(bmc: Bmc, now: number): boolean {
  for (const session of bmc.sessions.values())
    if (now - session.usedAt > bmc.options.idleMs) bmc.sessions.delete(session.id);
  return bmc.sessions.size < bmc.options.sessionLimit;
}
