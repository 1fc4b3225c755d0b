/** 1 callback, 2 user, 3 operator, 4 administrator. */
export type Privilege = 1 | 2 | 3 | 4;

export interface User {
  /** Up to 16 bytes; empty is the null user. */
  readonly name: string;
  /** Its first 20 bytes count. */
  readonly password: string;
  /** The highest level this user gets; 4 unless given. */
  readonly limit?: Privilege;
}

/**
 * What one BMC is and what is wrong with it. Everything is data, so that a fleet is a JSON file.
 * A wrong password or Kg is no option of its own: give the BMC another one than the client has.
 */
export interface BmcOptions {
  readonly port: number;
  /** Whether the machine is on when the farm starts. */
  readonly power: boolean;
  /** Or'ed to the power state in Get Chassis Status: 0x08 fault, 0x10 control fault, 0x04 interlock. */
  readonly chassisFlags: number;
  /** Bytes of Get Chassis Status after the completion code, 1 to 4. */
  readonly statusLength: number;
  /** Get Device ID after the completion code, in hex. */
  readonly device: string;
  readonly users: readonly User[];
  /** The BMC's Kg in hex; empty when it has none. */
  readonly kg: string;
  /** Cipher suites it opens sessions with, of 0-3 and 15-17. */
  readonly suites: readonly number[];

  /** False: it knows IPMI 1.5 alone, and is silent to any RMCP+ packet. */
  readonly version2: boolean;
  /** Completion code when Get Channel Authentication Capabilities asks for 2.0 data; null: answers. */
  readonly refuse38: number | null;
  readonly silent54: boolean;
  /** Open Session status by suite, as `{"17": 4}`; `"*"` is every suite. Others not in `suites`: 0x11. */
  readonly openStatus: { readonly [suite: string]: number };
  /** Sessions at one time, half open ones too; the next is refused with status 01. */
  readonly sessionLimit: number;
  /** RAKP2 status for a name it does not know. */
  readonly unknownUser: number | "silent";
  /** RAKP2 status for a role above the user's limit, 9 or 10; null: opens, and 3B answers 81. */
  readonly roleStatus: number | null;
  /** Payload bytes of an answer with a status other than 0; null: as long as a good one. */
  readonly errorLength: number | null;
  /** A RAKP message that comes again: status 02, or the same answer again. */
  readonly repeats: "refused" | "answered";
  /** Echoes the privilege of Open Session, 0 too, as ipmi_sim does. */
  readonly echoPrivilege: boolean;
  /** Takes the role for the hashes from Open Session instead of RAKP1, as many Supermicro did. */
  readonly openPrivilege: boolean;
  /** Answers this code to commands in a session so many times; a command is "netFn/cmd" in hex. */
  readonly busy: { readonly code: number; readonly times: number; readonly command: string } | null;
  /** Both checksums are wrong in packets whose hash is good. */
  readonly wrongChecksums: boolean;

  /** Bound, and never answers. */
  readonly dead: boolean;
  /** Not bound: the port is closed. */
  readonly closed: boolean;
  /** Probabilities, 0 to 1. */
  readonly dropRx: number;
  readonly dropTx: number;
  /** Sends an answer twice, the second one up to 50 ms later. */
  readonly duplicate: number;
  /** Holds an answer back until the next one has gone, or for 100 ms. */
  readonly reorder: number;
  /** Sends a datagram that means nothing before an answer. */
  readonly garbage: number;
  /** Milliseconds before each answer. */
  readonly delayMs: number;
  /** Answers so much later, with this probability. */
  readonly late: { readonly probability: number; readonly ms: number } | null;
}

export const HEALTHY: BmcOptions = {
  port: 623,
  power: false,
  chassisFlags: 0,
  statusLength: 3,
  device: "2001050302bf911200020f00000000",
  users: [{ name: "admin", password: "s3cret-Passw0rd" }],
  kg: "",
  suites: [1, 2, 3, 15, 16, 17],
  version2: true,
  refuse38: null,
  silent54: false,
  openStatus: {},
  sessionLimit: 63,
  unknownUser: 0x0d,
  roleStatus: null,
  errorLength: 8,
  repeats: "refused",
  echoPrivilege: false,
  openPrivilege: false,
  busy: null,
  wrongChecksums: false,
  dead: false,
  closed: false,
  dropRx: 0,
  dropTx: 0,
  duplicate: 0,
  reorder: 0,
  garbage: 0,
  delayMs: 0,
  late: null,
};

/** @throws Error for an option that does not exist: a mistyped fault would be none at all */
export function withOptions(base: BmcOptions, own: Partial<BmcOptions>): BmcOptions {
  for (const name of Object.keys(own))
    if (!(name in HEALTHY)) throw new Error(`a BMC has no option ${name}`);
  // 10,000 BMCs that are alike share one object.
  return Object.keys(own).length === 0 ? base : { ...base, ...own };
}
