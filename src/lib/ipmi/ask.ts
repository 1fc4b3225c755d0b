import { endpointOf, IPMI_PORT, unusableAddress } from "./address.ts";
import { type Chassis, COMMANDS, type Device } from "./commands.ts";
import { suiteOf } from "./crypto.ts";
import { listSuites } from "./discover.ts";
import { type Credentials, credentials, invalidUser, wipe } from "./login.ts";
import { type Diagnosis, type Level, refusedBy } from "./policy.ts";
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

/** Result for one BMC. Contains no secret, no key, and no login data. */
export type BmcReading = Readonly<Awaited<ReturnType<typeof askPower>>> & {
  readonly address: string;
  /** 2 if the BMC was tried again after all others. */
  readonly pass: 1 | 2;
};

export type IpmiClient = Readonly<ReturnType<typeof openClient>>;

/** Reads power states of BMCs through a few shared sockets. */
export function openClient(
  options: SessionOptions = SESSION_DEFAULTS,
  clock: Timers = SYSTEM_CLOCK,
  mux: Mux = openMux(),
) {
  const context = { clock, chance: SYSTEM_CHANCE };
  /**
   * Every failure of the BMC is a reading, not an error. Secrets are wiped from memory afterwards.
   * @throws the signal's reason if aborted; IpmiError if this host cannot send requests
   */
  const ask = async (target: BmcTarget, { deadline, signal }: Limits): Promise<BmcReading> => {
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
) {
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
  const diagnosis: Diagnosis =
    chassis === null ? end.diagnosis : { verdict: "ok", detail: `power is ${chassis.power}` };
  return {
    power: chassis?.power ?? null,
    ...diagnosis,
    /** Suite of the session. Null also if a better one may only have lacked a free session. */
    suite,
    /** Suites that the BMC lists. Null if it lists none. */
    suites,
    /** Whether the BMC reports that a Kg is set. */
    kg: capabilities?.kg ?? null,
    privilege: opened?.level ?? null,
    /** Product number. */
    device: device?.device ?? null,
    /** IANA enterprise number. */
    manufacturer: device?.manufacturer ?? null,
    /** `9.08` */
    firmware: device?.firmware ?? null,
    /** Logins in both passes. */
    attempts: attempts + (opened?.unsure ? 1 : 0),
    /** Milliseconds of the fastest exchange without a resend. */
    rtt: rtt === null ? null : tenths(rtt),
    /** Milliseconds from the first datagram to the verdict. */
    elapsed: tenths(talk.elapsed()),
    /** ISO 8601, UTC, at the start, so that a reading never appears too recent. */
    startedAt,
    observations: observed({ ...end, credentials }),
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

type Finished = Established<PowerFound> & { readonly credentials: Credentials };

/** Other facts about a BMC, for any verdict. @source facts/ipmi.md 6 */
const OBSERVATIONS = {
  /** It lists cipher suite 0, which accepts any password. */
  "suite-0": ({ suites }) => suites?.includes(0),
  "sha1-only": ({ suites }) =>
    suites !== null && suites.length > 0 && !suites.some((id) => id >= 15),
  /** Users without a name or password are enabled. */
  "null-users": ({ capabilities }) => capabilities?.nullUsers,
  "kg-not-given": ({ capabilities, credentials }) =>
    capabilities?.kg === true && credentials.kg === null,
  /** Its firmware is being updated. */
  updating: ({ opened }) => opened?.found.device?.updating,
  "chassis-fault": ({ opened }) => opened?.found.chassis.fault,
  /** The password is longer than ipmitool and this library use. */
  "password-cut": ({ credentials }) => credentials.cut,
  /** Its messages have wrong checksums, but correct signatures. */
  "wrong-checksums": ({ opened }) => opened?.found.checksumsWrong,
  /** It computes its keys with the level of Open Session, which few clients support. Quirk Q3. */
  "open-session-level": ({ opened }) => opened?.openLevel,
  /** It does not list its cipher suites outside a session. */
  "suites-not-listed": ({ opened, suites }) => opened !== null && suites === null,
  /** Its session is silent after a request for its cipher suites. */
  "silent-after-list": ({ opened }) => opened?.unlisted,
} satisfies { readonly [name: string]: (end: Finished) => boolean | undefined };

export type Observation = keyof typeof OBSERVATIONS;

function observed(end: Finished): readonly Observation[] {
  const all = Object.keys(OBSERVATIONS) as Observation[]; // its keys
  return all.filter((name) => OBSERVATIONS[name](end) === true);
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
