import {
  type Capabilities,
  COMMANDS,
  type Command,
  codeWords,
  DUPLICATE,
  isLevelRefused,
  isTryAgain,
} from "./commands.ts";
import { forget, open, type Suite, seal, suiteOf } from "./crypto.ts";
import { discover, listSuites } from "./discover.ts";
import { type Credentials, logIn, type OpenSession } from "./login.ts";
import {
  type Attempt,
  busyWith,
  type Diagnosis,
  decide,
  GAP,
  isMismatched,
  LEVELS,
  type Level,
  type LoginFailure,
  NO_ROOM,
  NOTHING_YET,
  outOfTime,
  refusedBy,
  stageWait,
} from "./policy.ts";
import type { Line, Talk } from "./talk.ts";
import {
  answers,
  PAYLOAD,
  parsePacket,
  parseResponse,
  type Response,
  request,
  sessionNamed,
} from "./wire.ts";

/** Commands in an open session. */
export interface Channel {
  /** Null when no answer came; a busy BMC is asked again after a pause, a few times. */
  readonly ask: (
    command: Command,
    data?: readonly number[],
    waits?: readonly number[],
  ) => Promise<Response | null>;
  /** Whether an answer had wrong checksums. */
  readonly checksumsWrong: () => boolean;
  /**
   * Frees the slot and forgets the keys. It is sent at most twice, waits half a second each time, and ignores the answer.
   * It is sent after a request to stop too, because an open session takes a slot from the conductor.
   */
  readonly close: () => Promise<void>;
  /** The same without waiting, when no time is left or nobody knows whether it is open. */
  readonly leave: () => void;
}

/** What came of a login: what was found out in its session, or why it failed. */
type LoginOutcome<T> = { readonly kind: "answered"; readonly found: T } | LoginFailure;

/** Does its work in a session, and closes it when that is to end with it. */
export type InSession<T> = (channel: Channel) => Promise<LoginOutcome<T>>;

/** How to log in. */
export interface SessionOptions {
  /** Cipher suites to ask for, in this order, given those the BMC lists; null when it lists none. */
  readonly suites: (listed: readonly number[] | null) => readonly number[];
  /** Ask for that list before the login, as ipmitool 1.8.19 and later, unless it is given a suite. */
  readonly asksList: boolean;
  /** The level to log in at first; ADMINISTRATOR unless given. */
  readonly level?: Level;
  /** Log in even where the BMC says that it does not speak 2.0. Quirk Q19. */
  readonly force: boolean;
}

/**
 * As ipmitool 1.8.19 and later: 17 where the BMC lists it, else 3; the other one when that is
 * refused.
 */
export const SESSION_DEFAULTS: SessionOptions = {
  suites: (listed) => (listed?.includes(17) === true ? [17, 3] : [3, 17]),
  asksList: true,
  force: false,
};

export interface Established<T> {
  readonly diagnosis: Diagnosis;
  readonly attempts: number;
  /** What the BMC lists; null when it does not say. */
  readonly suites: readonly number[] | null;
  readonly capabilities: Capabilities | null;
  /** Of the session that brought what was wanted. */
  readonly opened: Opened<T> | null;
}

interface Opened<T> {
  readonly suite: number;
  /** The login with the suite that goes first, if it was refused only because no session was free. */
  readonly unsure: Attempt | null;
  readonly level: Level;
  /** Whether RAKP 2 fitted only when Open Session named the level. Quirk Q3. */
  readonly openLevel: boolean;
  /** Whether a session was silent after the list was asked for, and this one, without it, was not. */
  readonly unlisted: boolean;
  readonly found: T;
}

/** Logins to a BMC that was silent to every message of 2.0, and may know 1.5 alone. */
const MUTE_LOGINS = 6;
const MUTE: Diagnosis = {
  verdict: "silent",
  detail: "answers IPMI 1.5 and nothing of 2.0: lost datagrams, or it is too old",
};
const TOO_OLD: Diagnosis = { verdict: "no-ipmi2", detail: "speaks IPMI 1.5 only" };

/**
 * Finds out what the BMC speaks, and logs in as the conductor would, as ADMINISTRATOR, then once as
 * OPERATOR, until `use` has what it wants, there is a verdict, or no time left.
 *
 * @throws the signal's reason when it is aborted; an open session is closed then
 * @source facts/ipmi.md 2.7-2.9, 4.3, 5.5
 */
export async function establish<T>(
  talk: Talk,
  line: Line,
  credentials: Credentials,
  options: SessionOptions,
  use: InSession<T>,
): Promise<Established<T>> {
  const found = await discover(talk);
  const nothing = { attempts: 0, suites: null, capabilities: null, opened: null };
  if (found.kind === "silent") return { ...nothing, diagnosis: silence(talk, line) };
  if (found.kind === "busy") return { ...nothing, diagnosis: busyWith(found.code) };
  if (found.kind === "only-1.5" && !options.force) return { ...nothing, diagnosis: TOO_OLD };
  if (found.kind === "refused" && !options.force)
    return { ...nothing, diagnosis: refusedAtFirst(found.code) };
  if (found.kind === "cut") return { ...nothing, diagnosis: outOfTime(null, NOTHING_YET) };
  const capabilities = found.kind === "capabilities" ? found.capabilities : null;
  const patience = found.kind === "only-1.5-form" ? MUTE_LOGINS : Infinity;
  const suites = options.asksList ? await listSuites(talk) : null;
  const suitesOf = (listed: readonly number[] | null): readonly Suite[] =>
    options.suites(listed).flatMap((id) => suiteOf(id) ?? []);
  const wanted = {
    suites: suitesOf(suites),
    unlisted: options.asksList ? suitesOf(null) : null,
    level: options.level ?? "ADMINISTRATOR",
    patience,
  };
  return { ...(await logInUntil(talk, credentials, wanted, use)), suites, capabilities };
}

/** What the BMC, asked what it speaks, says by its silence. */
function silence(talk: Talk, line: Line): Diagnosis {
  if (talk.unexpected() > 0)
    return { verdict: "protocol-error", detail: "answers, but not as IPMI does" };
  const fault = line.fault();
  if (fault === "ECONNREFUSED")
    return { verdict: "port-closed", detail: "the host answers that nothing listens at this port" };
  return {
    verdict: "unreachable",
    detail: fault === null ? "does not answer" : `nothing could be sent: ${fault}`,
  };
}

function refusedAtFirst(code: number): Diagnosis {
  const said = code === 0 ? "an answer that is cut short" : codeWords(code);
  return { verdict: "protocol-error", detail: `${COMMANDS.capabilities.name} says ${said}` };
}

interface Wanted {
  readonly suites: readonly Suite[];
  /** Those of a login before which the list is not asked for; null: it never was. */
  readonly unlisted: readonly Suite[] | null;
  readonly level: Level;
  /** Logins without any answer at most. */
  readonly patience: number;
}

/** Logs in until there is an answer, a verdict, or no time left. */
async function logInUntil<T>(
  talk: Talk,
  credentials: Credentials,
  { suites: listed, unlisted, level, patience }: Wanted,
  use: InSession<T>,
): Promise<Pick<Established<T>, "diagnosis" | "attempts" | "opened">> {
  let suites = listed;
  const [first] = suites;
  if (first === undefined) throw new RangeError("no cipher suite that this client speaks");
  const firstTag = talk.chance.bytes(1).readUInt8();
  // As the conductor's ipmitool, which names every level but the highest.
  let attempt: Attempt = { suite: first, level, namesLevel: level !== "ADMINISTRATOR" };
  let tried = NOTHING_YET;
  let last: LoginFailure | null = null;
  let silentSessions = 0;
  const roomless = new Set<Suite | undefined>();
  for (let attempts = 1; ; attempts++) {
    const each = { tag: (firstTag + attempts) & 0xff, wait: stageWait(tried) };
    const outcome = await logInOnce(talk, credentials, attempt, each, use);
    if (outcome.kind === "answered") {
      const [best = first] = suites;
      const opened = {
        suite: attempt.suite.id,
        unsure: best !== attempt.suite && roomless.has(best) ? { ...attempt, suite: best } : null,
        level: attempt.level,
        openLevel: isMismatched(tried),
        unlisted: unlisted !== null && silentSessions === 1,
      };
      const diagnosis: Diagnosis = { verdict: "ok", detail: "the session is open" };
      return { diagnosis, attempts, opened: { ...opened, found: outcome.found } };
    }
    // A wait that was cut short is no silence.
    if (outcome.kind === "silent" && talk.expired())
      return { diagnosis: outOfTime(last, tried), attempts, opened: null };
    if (outcome.kind === "status" && outcome.stage === "Open Session")
      roomless[outcome.status === NO_ROOM ? "add" : "delete"](attempt.suite);
    const next = decide(outcome, attempt, tried, suites, talk.chance.fraction());
    if (next.do === "end") return { diagnosis: next.diagnosis, attempts, opened: null };
    await talk.pause(next.pause);
    ({ attempt, tried } = next);
    last = outcome;
    if (talk.expired()) return { diagnosis: outOfTime(last, tried), attempts, opened: null };
    if (attempts >= patience && tried.silences === attempts)
      return { diagnosis: MUTE, attempts, opened: null };
    await talk.renew();
    if (outcome.kind !== "silent" || outcome.stage !== "session") continue;
    silentSessions += 1;
    const [other] = unlisted ?? [];
    if (unlisted === null || other === undefined || silentSessions > 1) continue;
    // Some go silent in a session once they were asked for their list. As when ipmitool is run with a
    // suite: what the BMC speaks is asked, its list is not.
    await discover(talk);
    suites = unlisted;
    attempt = { ...attempt, suite: other };
    tried = { ...tried, refused: new Map() };
  }
}

/** Whether the BMC opens a session with this suite once others had time to end; null if it does not answer. */
export async function isTaken(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
): Promise<boolean | null> {
  await talk.pause(GAP);
  if (talk.expired()) return null;
  await talk.renew();
  const each = { tag: talk.chance.bytes(1).readUInt8(), wait: stageWait(NOTHING_YET) };
  const outcome = await logInOnce(talk, credentials, attempt, each, async (channel) => {
    await channel.close();
    return { kind: "answered", found: null };
  });
  if (outcome.kind === "answered") return true;
  return outcome.kind === "status" && outcome.stage === "Open Session" ? false : null;
}

/**
 * One login and what is done in its session, which is closed again unless that has what it wants.
 *
 * @throws the signal's reason when it is aborted; a login that is past RAKP 3 is ended first
 */
async function logInOnce<T>(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
  each: { readonly tag: number; readonly wait: number },
  use: InSession<T>,
): Promise<LoginOutcome<T>> {
  const session = await logIn(talk, credentials, attempt, each);
  if (session.kind !== "open" && session.kind !== "half-open") return session;
  const channel = openChannel(talk, session);
  if (session.kind === "half-open") {
    channel.leave();
    return { kind: "silent", stage: "RAKP 4" };
  }
  let outcome: LoginOutcome<T> | null = null;
  try {
    outcome = (await raise(channel, LEVELS[attempt.level])) ?? (await use(channel));
  } finally {
    if (outcome?.kind !== "answered") await channel.close();
  }
  return outcome;
}

/** A session begins at USER; asking for our level shows what the conductor will meet. */
async function raise(channel: Channel, level: number): Promise<LoginFailure | null> {
  const raised = await channel.ask(COMMANDS.privilege, [level]);
  if (raised === null) return { kind: "silent", stage: "session" };
  if (isLevelRefused(raised.code)) return { kind: "level", code: raised.code };
  return raised.code === 0 ? null : refusedBy(COMMANDS.privilege.name, raised.code);
}

/** Milliseconds after each sending. A session is dear: it is given up after more losses than a login. */
const WAITS = [1000, 1500, 2250, 2250, 2250, 3375];
const BUSY_PAUSES = [100, 200, 400];
const CLOSE_WAITS = [500, 500];

function openChannel(talk: Talk, session: Omit<OpenSession, "kind">): Channel {
  const { suite, keys, ours, theirs } = session;
  let sequence = 0;
  let rqSeq = 0;
  let checksumsWrong = false;
  let closed = false;

  const sealed = (message: Buffer): Buffer => {
    // Counts every sending, resends included; 0 stands for "no session" and is skipped.
    sequence = sequence === 0xffffffff ? 1 : sequence + 1;
    const iv = suite.encrypted ? talk.chance.bytes(16) : Buffer.alloc(0);
    return seal({ suite, keys, session: theirs }, sequence, message, iv);
  };
  const once = async (
    command: Command,
    data: readonly number[],
    waits: readonly number[],
  ): Promise<Response | null> => {
    rqSeq = (rqSeq + 1) & 0x3f;
    const wanted = rqSeq;
    const message = request(command, wanted, data);
    const accept = (datagram: Buffer): Response | null =>
      answerIn(datagram, session, command, wanted);
    const response = await talk.exchange(() => sealed(message), waits, accept);
    if (response?.checksumsGood === false) checksumsWrong = true;
    return response;
  };
  const closing = (): Buffer => {
    rqSeq = (rqSeq + 1) & 0x3f;
    return sealed(request(COMMANDS.close, rqSeq, wireNumber(theirs)));
  };
  const leave = (): void => {
    if (closed) return;
    closed = true;
    talk.tell(closing());
    forget(keys);
  };
  return {
    leave,
    ask: (command, data = [], waits = WAITS) => untilFree(talk, () => once(command, data, waits)),
    checksumsWrong: () => checksumsWrong,
    async close() {
      if (closed) return;
      if (talk.expired()) return leave();
      closed = true;
      // What it says changes nothing, so it is not opened: whoever sends it can end this wait only.
      const accept = (reply: Buffer): true | null => sessionNamed(reply) === ours || null;
      await talk.exchange(closing, CLOSE_WAITS, accept, true);
      forget(keys);
    },
  };
}

/** The answer to a command of this session in a datagram, null when it is none. */
function answerIn(
  datagram: Buffer,
  { suite, keys, ours }: Omit<OpenSession, "kind">,
  command: Command,
  wanted: number,
): Response | null {
  const packet = parsePacket(datagram);
  if (packet === null || packet.session !== ours || packet.type !== PAYLOAD.ipmi) return null;
  const message = open(suite, keys, packet);
  const response = message === null ? null : parseResponse(message);
  if (response === null || !answers(response, command, wanted)) return null;
  return response.code === DUPLICATE ? null : response;
}

/** Asks again, after a pause, while the BMC says that it is busy. */
async function untilFree(
  talk: Talk,
  once: () => Promise<Response | null>,
): Promise<Response | null> {
  let busy: Response | null = null;
  for (const pause of [...BUSY_PAUSES, null]) {
    const response = await once();
    // A wait that the deadline cuts short takes nothing back that was said before.
    if (response === null) return talk.expired() ? busy : null;
    if (pause === null || !isTryAgain(response.code)) return response;
    busy = response;
    await talk.pause(pause);
  }
  return busy;
}

function wireNumber(value: number): readonly number[] {
  return [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);
}
