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
 * What one BMC is and what is wrong with it: nothing.
 * A wrong password or Kg is no option of its own: give the BMC another one than the client has.
 */
export const HEALTHY = {
  port: 623,
  /** Whether the machine is on when the farm starts. */
  power: false,
  /** Or'ed to the power state in Get Chassis Status: 0x08 fault, 0x10 control fault, 0x04 interlock. */
  chassisFlags: 0,
  /** Bytes of Get Chassis Status after the completion code, 1 to 4. */
  statusLength: 3,
  users: [{ name: "admin", password: "s3cret-Passw0rd" }] as readonly User[],
  /** The BMC's Kg in hex; empty when it has none. */
  kg: "",
  /** Cipher suites it opens sessions with, of 0-3 and 15-17, and those it lists; null: the same. */
  suites: [1, 2, 3, 15, 16, 17] as readonly number[],
  listed: null as readonly number[] | null,

  /** False: it says that it knows IPMI 1.5 alone. */
  version2: true,
  /** False: it is silent to any RMCP+ packet. */
  rmcpplus: true,
  /** Says this to everything. */
  noise: null as Buffer | null,
  /** What the 2.0 form of Get Channel Authentication Capabilities brings, or this completion code. */
  form2: "answers" as "answers" | "silent" | "cut" | number,
  /** What 1.5's form brings; the 2.0 bits are not in its answer, but for some. */
  form15: "answers" as "answers" | "has 2.0 bits" | "silent" | "cut" | number,
  /** How many of these questions it answers so, before it does as it should. */
  formTimes: Infinity,
  silent54: false,
  /** Says nothing in a session once it was asked for its list, until it is asked what it speaks. */
  silentAfterList: false,
  /** Says the first piece of its list whichever is asked for. */
  listRepeats: false,
  /** Says nothing to a second login from one port, as pyghmi's. */
  portOnce: false,
  /** Open Session status by suite, as `{"17": 4}`; `"*"` is every suite. So many times. */
  openStatus: {} as { readonly [suite: string]: number },
  openTimes: Infinity,
  /** Open Session status of a suite that is not in `suites`. */
  suiteStatus: 0x11,
  /** Sessions at one time, half open ones too; the next is refused with status 01. */
  sessionLimit: 63,
  /** Statuses of RAKP2 and RAKP4 whatever was asked; null: what is right. */
  rakp2Status: null as number | null,
  rakp4Status: null as number | null,
  /** Which of its RAKP2 and RAKP4, counted from 1, have a wrong code. */
  wrongMacs: [] as readonly number[],
  wrongIcvs: [] as readonly number[],
  /** Bytes more, or fewer, than the code of RAKP2 has. */
  macLength: 0,
  /** RAKP2 status for a name it does not know. */
  unknownUser: 0x0d as number | "silent",
  /** RAKP2 status for a role above the user's limit, 9 or 10; null: opens, and 3B answers 81. */
  roleStatus: null as number | null,
  /** Payload bytes of an answer with a status other than 0; null: as long as a good one. */
  errorLength: 8 as number | null,
  /** A RAKP message that comes again: status 02, or the same answer again. */
  repeats: "refused" as "refused" | "answered",
  /** Echoes the privilege of Open Session, 0 too, as ipmi_sim does. */
  echoPrivilege: false,
  /** Takes the role for the hashes from Open Session instead of RAKP1, as many Supermicro did. */
  openPrivilege: false,
  /** Answers this code to commands in a session so many times; a command is "netFn/cmd" in hex. */
  busy: null as { readonly code: number; readonly times: number; readonly command: string } | null,
  deviceSilent: false,
  /** Both checksums are wrong in packets whose hash is good. */
  wrongChecksums: false,

  /** Bound, and never answers. */
  dead: false,
  /** Not bound: the port is closed. */
  closed: false,
  /** Probabilities, 0 to 1. */
  dropRx: 0,
  dropTx: 0,
  /** Sends an answer twice, the second one up to 50 ms later. */
  duplicate: 0,
  /** Holds an answer back until the next one has gone, or for 100 ms. */
  reorder: 0,
  /** Sends a datagram that means nothing before an answer. */
  garbage: 0,
  /** Milliseconds before each answer. */
  delayMs: 0,
  /** Answers so much later, with this probability. */
  late: null as { readonly probability: number; readonly ms: number } | null,
};

export type BmcOptions = Readonly<typeof HEALTHY>;

export function withOptions(base: BmcOptions, own: Partial<BmcOptions>): BmcOptions {
  // 10,000 BMCs that are alike share one object.
  return Object.keys(own).length === 0 ? base : { ...base, ...own };
}
