import { endpointOf, IPMI_PORT, unusableAddress } from "./address.ts";
import { type Chassis, COMMANDS, type Device } from "./commands.ts";
import { suiteOf } from "./crypto.ts";
import { listSuites } from "./discover.ts";
import { type Credentials, credentials, invalidUser, wipe } from "./login.ts";
import { type BmcVerdict, type Diagnosis, type Level, refusedBy } from "./policy.ts";
import {
  type Established,
  establish,
  type InSession,
  isTaken,
  SESSION_DEFAULTS,
  type SessionOptions,
} from "./session.ts";
import {
  type Chance,
  type Limits,
  type Line,
  SYSTEM_CHANCE,
  SYSTEM_CLOCK,
  startTalk,
  type Talk,
  type Timers,
} from "./talk.ts";
import { type Mux, type OpenLine, openMux } from "./transport.ts";

/** BMC credentials. The secrets are functions, so that they are decrypted only on use. */
export interface BmcLogin {
  /** At most 16 bytes. */
  readonly user: string;
  /** Only the first 20 bytes, up to the first line end or TAB, are used, as in ipmitool. */
  readonly password: () => string;
  /** The BMC key, if one is set. Its first 20 bytes are used. */
  readonly kg?: () => Uint8Array;
}

/** A BMC and its credentials. */
export interface BmcTarget extends BmcLogin {
  /** An IPv4 or IPv6 address, or a host name. */
  readonly address: string;
  /** Default 623. */
  readonly port?: number;
  /** Try this cipher suite only. */
  readonly suite?: number;
  /** Default ADMINISTRATOR, then OPERATOR once. */
  readonly level?: Level;
}

/** Other facts about a BMC, for any verdict. @source facts/ipmi.md 6 */
export type Observation =
  /** It lists cipher suite 0, which accepts any password. */
  | "suite-0"
  /** It lists only suites with SHA1. */
  | "sha1-only"
  /** Users without a name or password are enabled. */
  | "null-users"
  /** It reports that a Kg is set, and none was given. */
  | "kg-not-given"
  /** Its firmware is being updated. */
  | "updating"
  /** Overload, interlock, fault or control fault. */
  | "chassis-fault"
  /** The password is longer than ipmitool and this library use. */
  | "password-cut"
  /** Its messages have wrong checksums, but correct signatures. */
  | "wrong-checksums"
  /** It computes its keys with the level of Open Session, which few clients support. Quirk Q3. */
  | "open-session-level"
  /** It does not list its cipher suites outside a session. */
  | "suites-not-listed"
  /** Its session is silent after a request for its cipher suites. */
  | "silent-after-list";

/** Result for one BMC. Contains no secret, no key, and no login data. */
export interface BmcReading {
  readonly address: string;
  readonly power: "on" | "off" | null;
  readonly verdict: BmcVerdict;
  /** One clause without secrets: `RAKP 2 returned 0x0d: unknown user name`. */
  readonly detail: string;
  /** What to check first, if the verdict does not name it. */
  readonly likely?: "user";
  /** Suite of the session. Null also if a better one may only have lacked a free session. */
  readonly suite: number | null;
  /** Suites that the BMC lists. Null if it lists none. */
  readonly suites: readonly number[] | null;
  /** Whether the BMC reports that a Kg is set. */
  readonly kg: boolean | null;
  readonly privilege: Level | null;
  /** Product number. */
  readonly device: number | null;
  /** IANA enterprise number. */
  readonly manufacturer: number | null;
  /** `9.08` */
  readonly firmware: string | null;
  /** Logins in both passes. */
  readonly attempts: number;
  /** 2 if the BMC was tried again after all others. */
  readonly pass: 1 | 2;
  /** Milliseconds of the fastest exchange without a resend. */
  readonly rtt: number | null;
  /** Milliseconds from the first datagram to the verdict. */
  readonly elapsed: number;
  /** ISO 8601, UTC, at the start, so that a reading never appears too recent. */
  readonly startedAt: string;
  readonly observations: readonly Observation[];
}

/** Reads power states of BMCs through a few shared sockets. */
export interface IpmiClient {
  /**
   * Every failure of the BMC is a reading, not an error. Secrets are wiped from memory afterwards.
   * @throws the signal's reason if aborted; IpmiError if this host cannot send requests
   */
  readonly ask: (target: BmcTarget, limits: Limits) => Promise<BmcReading>;
  readonly close: () => Promise<void>;
}

export function openClient(
  options: SessionOptions = SESSION_DEFAULTS,
  clock: Timers = SYSTEM_CLOCK,
  mux: Mux = openMux(),
): IpmiClient {
  const context = { clock, chance: SYSTEM_CHANCE };
  const ask: IpmiClient["ask"] = async (target, { deadline, signal }) => {
    signal.throwIfAborted();
    const attempt = { address: target.address, pass: 1 } as const;
    const startedAt = clock.date().toISOString();
    const start = clock.now();
    const reached = await openLine(mux, target, { deadline, signal });
    const elapsed = clock.now() - start;
    if ("verdict" in reached)
      return { ...attempt, ...NO_DEVICE, ...reached, startedAt, elapsed: Math.round(elapsed) };
    const { line, secrets } = reached;
    try {
      const limits = { deadline: deadline - elapsed, signal };
      return {
        ...attempt,
        ...(await askPower(line, secrets, context, limits, optionsFor(target, options))),
      };
    } finally {
      line.close();
      wipe(secrets);
    }
  };
  return { ask, close: mux.close };
}

const NO_DEVICE = {
  ...{ power: null, suite: null, suites: null, kg: null, privilege: null },
  ...{ device: null, manufacturer: null, firmware: null, attempts: 0, rtt: null, observations: [] },
} as const;

/** Options of the target override the general options. */
export function optionsFor({ suite, level }: BmcTarget, options: SessionOptions): SessionOptions {
  return {
    ...options,
    ...(suite !== undefined && { suites: () => [suite], asksList: false }),
    ...(level !== undefined && { level }),
  };
}

/** Opens a line to the BMC. The caller closes it and wipes the credentials. */
export async function openLine(
  mux: Mux,
  { address, port = IPMI_PORT, user, password, kg, suite }: BmcTarget,
  limits: Limits,
): Promise<{ readonly line: OpenLine; readonly secrets: Credentials } | Diagnosis> {
  const isSupportedSuite = suite === undefined || suiteOf(suite) !== null;
  const unspoken = `cipher suite ${suite} is not supported, only 1 to 3 and 15 to 17`;
  const reason = invalidUser(user) ?? (isSupportedSuite ? null : unspoken);
  if (reason !== null) return { verdict: "incomplete", detail: reason };
  const secrets = credentials(user, password(), kg?.() ?? null);
  let line: OpenLine | null = null;
  try {
    const endpoint = await endpointOf(address, port, limits);
    if (endpoint === null)
      return { verdict: "unreachable", detail: "the name of the BMC cannot be resolved" };
    const reason = unusableAddress(endpoint.address);
    if (reason !== null) return { verdict: "incomplete", detail: reason };
    line = await mux.line(endpoint);
    return { line, secrets };
  } finally {
    if (line === null) wipe(secrets);
  }
}

/** Reads the power state of one BMC within the deadline. */
export async function askPower(
  line: Line,
  credentials: Credentials,
  { clock, chance }: { readonly clock: Timers; readonly chance: Chance },
  limits: Limits,
  options: SessionOptions = SESSION_DEFAULTS,
): Promise<Omit<BmcReading, "address" | "pass">> {
  const startedAt = clock.date().toISOString();
  const talk = startTalk(line, clock, chance, limits);
  const asking = establish(talk, line, credentials, options, readPower).then(async (reached) => {
    const end = { ...reached, suite: await surely(talk, credentials, reached.opened) };
    if (options.asksList || end.attempts === 0 || talk.expired()) return end;
    // Only for the report: an earlier request may change the BMC's behavior in a session.
    return { ...end, suites: await listSuites(talk) };
  });
  const end = await asking.finally(talk.end);
  const { opened, capabilities, suite, suites, attempts } = end;
  const { chassis, device } = opened?.found ?? { chassis: null, device: null };
  const rtt = talk.rtt();
  return {
    power: chassis?.power ?? null,
    ...(chassis === null
      ? end.diagnosis
      : { verdict: "ok" as const, detail: `power is ${chassis.power}` }),
    suite,
    suites,
    kg: capabilities?.kg ?? null,
    privilege: opened?.level ?? null,
    device: device?.device ?? null,
    manufacturer: device?.manufacturer ?? null,
    firmware: device?.firmware ?? null,
    attempts: attempts + (opened?.unsure ? 1 : 0),
    rtt: rtt === null ? null : tenths(rtt),
    elapsed: tenths(talk.elapsed()),
    startedAt,
    observations: observed(end, credentials),
  };
}

/** The suite of the session, or a better one if the BMC now accepts it. Null without an answer. */
async function surely(
  talk: Talk,
  credentials: Credentials,
  opened: Established<PowerFound>["opened"],
): Promise<number | null> {
  if (!opened?.unsure) return opened?.suite ?? null;
  const taken = await isTaken(talk, credentials, opened.unsure);
  return taken === false ? opened.suite : taken && opened.unsure.suite.id;
}

interface PowerFound {
  readonly chassis: Chassis;
  readonly device: Device | null;
  readonly checksumsWrong: boolean;
}

/** Milliseconds. Short, because the device id is informative only. */
const DEVICE_WAITS = [1000, 1500];

const readPower: InSession<PowerFound> = async (channel) => {
  try {
    const status = await channel.ask(COMMANDS.chassis);
    if (status === null) return { kind: "silent", stage: "session" };
    if (status.code !== 0) return refusedBy(COMMANDS.chassis.name, status.code);
    const chassis = COMMANDS.chassis.parse(status.data);
    if (chassis === null)
      return { kind: "odd", detail: "the response to Get Chassis Status has no data" };
    const about = await channel.ask(COMMANDS.device, [], DEVICE_WAITS);
    const device = about?.code === 0 ? COMMANDS.device.parse(about.data) : null;
    const found = { chassis, device, checksumsWrong: channel.checksumsWrong() };
    return { kind: "answered", found };
  } finally {
    await channel.close();
  }
};

function observed(
  { opened, capabilities, suites }: Established<PowerFound>,
  { kg, cut }: Credentials,
): readonly Observation[] {
  const found = opened?.found;
  const all: readonly (readonly [Observation, boolean | undefined])[] = [
    ["suite-0", suites?.includes(0)],
    ["sha1-only", suites !== null && suites.length > 0 && !suites.some((id) => id >= 15)],
    ["null-users", capabilities?.nullUsers],
    ["kg-not-given", capabilities?.kg === true && kg === null],
    ["updating", found?.device?.updating],
    ["chassis-fault", found?.chassis.fault],
    ["password-cut", cut],
    ["wrong-checksums", found?.checksumsWrong],
    ["open-session-level", opened?.openLevel],
    ["suites-not-listed", opened !== null && suites === null],
    ["silent-after-list", opened?.unlisted],
  ];
  return all.flatMap(([name, holds]) => (holds === true ? [name] : []));
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
