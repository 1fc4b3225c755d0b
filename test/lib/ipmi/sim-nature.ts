/**
 * A BMC that is played, with what can be wrong with it. Its hashes are the client's own: the vectors
 * hold those; what is looked at here is who says what when.
 */
export interface Nature {
  readonly power: "on" | "off";
  readonly user: string;
  readonly password: string;
  readonly kg: string | null;
  /** Suites it opens sessions with, and those it lists; null: it does not answer that question. */
  readonly suites: readonly number[];
  readonly listed: readonly number[] | null;
  /** Highest level of the user: 4 ADMINISTRATOR, 3 OPERATOR. */
  readonly level: number;
  readonly levelAt: "RAKP 2" | "command";
  readonly ipmi2: boolean;
  /** What the 2.0 form of Get Channel Authentication Capabilities brings, or this completion code. */
  readonly form2: "answers" | "silent" | "cut" | number;
  /** What 1.5's form brings; the 2.0 bits are not in its answer, but for some. */
  readonly form15: "answers" | "has 2.0 bits" | "silent" | "cut" | number;
  /** How many of these questions it answers so, before it does as it should. */
  readonly formTimes: number;
  /** False: says nothing to any message of 2.0. */
  readonly rmcpplus: boolean;
  /** Says nothing to a second login from one port, as pyghmi's. */
  readonly portOnce: boolean;
  readonly nullUsers: boolean;
  /** Status of refusals at Open Session: of a suite, and of every login. */
  readonly suiteStatus: number;
  readonly openStatus: number | null;
  readonly openTimes: number;
  readonly rakp2Status: number | null;
  readonly rakp4Status: number | null;
  readonly short: boolean;
  readonly silentUser: boolean;
  /** Answers a repeated RAKP message, and one it lost track of, with status 02. Quirk Q1. */
  readonly stale: boolean;
  /** Makes its hashes with the level of Open Session. Quirk Q3. */
  readonly openLevel: boolean;
  /** Which of its RAKP 2 and RAKP 4, counted from 1, have a wrong code. */
  readonly wrongMacs: readonly number[];
  readonly wrongIcvs: readonly number[];
  /** Status of RAKP 2 for a name it does not know. */
  readonly unknownStatus: number;
  /** Says nothing in a session once it was asked for its list, until it is asked what it speaks. */
  readonly silentAfterList: boolean;
  /** Says the first piece of its list whichever is asked for. */
  readonly listRepeats: boolean;
  /** Bytes more, or fewer, than the MAC of RAKP 2 has. Quirk Q7. */
  readonly macLength: number;
  /** Code and how often: for Get Chassis Status. */
  readonly busy: { readonly code: number; readonly times: number };
  readonly deviceSilent: boolean;
  readonly checksumsWrong: boolean;
  /** Says this to everything. */
  readonly garbage: Buffer | null;
  readonly dead: boolean;
}

export const HEALTHY: Nature = {
  power: "on",
  user: "admin",
  password: "s3cret-Passw0rd",
  kg: null,
  suites: [3, 17],
  listed: [0, 3, 17],
  level: 4,
  levelAt: "RAKP 2",
  ipmi2: true,
  form2: "answers",
  form15: "answers",
  formTimes: Infinity,
  rmcpplus: true,
  portOnce: false,
  nullUsers: false,
  suiteStatus: 0x11,
  openStatus: null,
  openTimes: Infinity,
  rakp2Status: null,
  rakp4Status: null,
  short: false,
  silentUser: false,
  stale: false,
  openLevel: false,
  wrongMacs: [],
  wrongIcvs: [],
  unknownStatus: 0x0d,
  silentAfterList: false,
  listRepeats: false,
  macLength: 0,
  busy: { code: 0xc0, times: 0 },
  deviceSilent: false,
  checksumsWrong: false,
  garbage: null,
  dead: false,
};
