import {
  COMMANDS,
  type Command,
  codeText,
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
  noLogins,
  outOfTime,
  refusedBy,
  stageWait,
  TOO_SLOW,
} from "./policy.ts";
import type { Line, Talk } from "./talk.ts";
import {
  answers,
  PAYLOAD,
  parsePacket,
  parseResponse,
  type Response,
  request,
  sessionIdOf,
} from "./wire.ts";

/** Commands in an open session. */
export type Channel = ReturnType<typeof openChannel>;

/** The result of a session, or why its login failed. */
type LoginOutcome<T> = { readonly kind: "answered"; readonly found: T } | LoginFailure;

/** Work in a session. The session is closed afterwards unless it returns a result. */
export type InSession<T> = (channel: Channel) => Promise<LoginOutcome<T>>;

/** Login options. */
export interface SessionOptions {
  /** Cipher suites to try in order, by those that the BMC lists. Null if it lists none. */
  readonly suites: (listed: readonly number[] | null) => readonly number[];
  /** Request the list before the login, as ipmitool 1.8.19 and later does without a given suite. */
  readonly asksList: boolean;
  /** Level of the first login. Default ADMINISTRATOR. */
  readonly level?: Level;
}

/** As ipmitool 1.8.19 and later: 17 if the BMC lists it, else 3, then the other one. */
export const SESSION_DEFAULTS: SessionOptions = {
  suites: (listed) => (listed?.includes(17) === true ? [17, 3] : [3, 17]),
  asksList: true,
};

export type Established<T> = Awaited<ReturnType<typeof establish<T>>>;

/** Logins to a BMC that answers nothing of 2.0, and may support 1.5 only. */
const MUTE_LOGINS = 6;
const MUTE: Diagnosis = {
  verdict: "silent",
  detail: "responds to IPMI 1.5 but not to 2.0: datagrams were lost, or the BMC is too old",
};
const TOO_OLD: Diagnosis = { verdict: "no-ipmi2", detail: "supports only IPMI 1.5" };

/**
 * Detects the IPMI version and logs in as the conductor would, as ADMINISTRATOR, then once as
 * OPERATOR, until there is a result, a verdict, or no time left.
 * @returns the session with the result, and the suites that the BMC lists, or null
 * @throws the signal's reason if aborted, after closing an open session
 * @source facts/ipmi.md 2.7-2.9, 4.3, 5.5
 */
export async function establish<T>(
  talk: Talk,
  line: Line,
  credentials: Credentials,
  options: SessionOptions,
  use: InSession<T>,
) {
  const found = await discover(talk);
  const nothing = { attempts: 0, suites: null, capabilities: null, opened: null };
  if (found.kind === "silent") return { ...nothing, diagnosis: silence(talk, line) };
  if (found.kind === "busy") return { ...nothing, diagnosis: busyWith(found.code) };
  if (found.kind === "only-1.5") return { ...nothing, diagnosis: TOO_OLD };
  if (found.kind === "refused") return { ...nothing, diagnosis: refusedAtFirst(found.code) };
  if (found.kind === "cut") return { ...nothing, diagnosis: TOO_SLOW };
  const capabilities = found.kind === "capabilities" ? found.capabilities : null;
  const maxSilences = found.kind === "only-1.5-form" ? MUTE_LOGINS : Infinity;
  const suites = options.asksList ? await listSuites(talk) : null;
  const reached = await logInUntil(talk, credentials, options, { suites, maxSilences }, use);
  return { ...reached, suites, capabilities };
}

/** Verdict if the BMC did not answer the version request. */
function silence(talk: Talk, line: Line): Diagnosis {
  if (talk.unexpected() > 0)
    return { verdict: "protocol-error", detail: "responds, but not with IPMI" };
  const fault = line.fault();
  if (fault === "ECONNREFUSED")
    return { verdict: "port-closed", detail: "the host reports that nothing listens on this port" };
  return {
    verdict: "unreachable",
    detail: fault === null ? "does not answer" : `nothing could be sent: ${fault}`,
  };
}

function refusedAtFirst(code: number): Diagnosis {
  const answer = code === 0 ? "a truncated answer" : codeText(code);
  return { verdict: "protocol-error", detail: `${COMMANDS.capabilities.name} returned ${answer}` };
}

/**
 * Logs in until there is a result, a verdict, or no time left.
 * @param maxSilences maximum logins without an answer
 */
async function logInUntil<T>(
  talk: Talk,
  credentials: Credentials,
  options: SessionOptions,
  found: { readonly suites: readonly number[] | null; readonly maxSilences: number },
  use: InSession<T>,
) {
  let suites = suitesOf(options, found.suites);
  /** Suites for a login without a list request. Null if the list was never requested. */
  const unlisted = options.asksList ? suitesOf(options, null) : null;
  const { level = "ADMINISTRATOR" } = options;
  const [first] = suites;
  if (first === undefined) throw new RangeError("no supported cipher suite");
  const firstTag = talk.chance.bytes(1).readUInt8();
  // As the conductor's ipmitool, which sends every level but the highest.
  const logins = noLogins({ suite: first, level, namesLevel: level !== "ADMINISTRATOR" });
  let silentSessions = 0;
  const roomless = new Set<Suite | undefined>();
  for (let attempts = 1; ; attempts++) {
    const { attempt } = logins;
    const each = { tag: (firstTag + attempts) & 0xff, wait: stageWait(logins) };
    const outcome = await logInOnce(talk, credentials, attempt, each, use);
    if (outcome.kind === "answered") {
      const [best = first] = suites;
      const opened = {
        found: outcome.found,
        suite: attempt.suite.id,
        /** The login with the preferred suite, if that only lacked a free session. */
        unsure: best !== attempt.suite && roomless.has(best) ? { ...attempt, suite: best } : null,
        level: attempt.level,
        /** Whether RAKP 2 matched only with the level in Open Session. Quirk Q3. */
        openLevel: isMismatched(logins),
        /** Whether a session after the suite list was silent, and this one without it was not. */
        unlisted: unlisted !== null && silentSessions === 1,
      };
      const diagnosis: Diagnosis = { verdict: "ok", detail: "the session is open" };
      return { diagnosis, attempts, opened };
    }
    // A wait that the deadline cut is not silence.
    if (outcome.kind === "silent" && talk.expired())
      return { diagnosis: outOfTime(logins), attempts, opened: null };
    if (outcome.kind === "status" && outcome.stage === "Open Session")
      roomless[outcome.status === NO_ROOM ? "add" : "delete"](attempt.suite);
    const next = decide(outcome, logins, suites, talk.chance.fraction());
    if (typeof next !== "number") return { diagnosis: next, attempts, opened: null };
    await talk.pause(next);
    if (talk.expired()) return { diagnosis: outOfTime(logins), attempts, opened: null };
    if (attempts >= found.maxSilences && logins.silences === attempts)
      return { diagnosis: MUTE, attempts, opened: null };
    await talk.renew();
    if (outcome.kind !== "silent" || outcome.stage !== "session") continue;
    silentSessions += 1;
    const [other] = unlisted ?? [];
    if (unlisted === null || other === undefined || silentSessions > 1) continue;
    // Some BMCs are silent in a session after a request for their suites. So request the version
    // only, as ipmitool does with a given suite.
    await discover(talk);
    suites = unlisted;
    logins.attempt = { ...logins.attempt, suite: other };
    logins.refused.clear();
  }
}

function suitesOf(options: SessionOptions, listed: readonly number[] | null): readonly Suite[] {
  return options.suites(listed).flatMap((id) => suiteOf(id) ?? []);
}

/** Whether the BMC now accepts this suite, after other sessions ended. Null without an answer. */
export async function isTaken(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
): Promise<boolean | null> {
  await talk.pause(GAP);
  if (talk.expired()) return null;
  await talk.renew();
  const each = { tag: talk.chance.bytes(1).readUInt8(), wait: stageWait({ silences: 0 }) };
  const outcome = await logInOnce(talk, credentials, attempt, each, async (channel) => {
    await channel.close();
    return { kind: "answered", found: null };
  });
  if (outcome.kind === "answered") return true;
  return outcome.kind === "status" && outcome.stage === "Open Session" ? false : null;
}

/**
 * One login and the work in its session. The session is closed unless it returns a result.
 * @throws the signal's reason if aborted. After RAKP 3, closes the session first
 */
async function logInOnce<T>(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
  each: { readonly tag: number; readonly wait: number },
  use: InSession<T>,
): Promise<LoginOutcome<T>> {
  const session = await logIn(talk, credentials, attempt, each);
  if (!("keys" in session)) return session;
  const channel = openChannel(talk, session);
  if (session.kind === "half-open") {
    channel.abandon();
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

/** A session starts at USER. Requesting the level shows whether the conductor will get it. */
async function raise(channel: Channel, level: number): Promise<LoginFailure | null> {
  const raised = await channel.ask(COMMANDS.privilege, [level]);
  if (raised === null) return { kind: "silent", stage: "session" };
  if (isLevelRefused(raised.code)) return { kind: "level", code: raised.code };
  return raised.code === 0 ? null : refusedBy(COMMANDS.privilege.name, raised.code);
}

/** Milliseconds after each send. A session is expensive, so it allows more losses than a login. */
const WAITS = [1000, 1500, 2250, 2250, 2250, 3375];
const BUSY_PAUSES = [100, 200, 400];
const CLOSE_WAITS = [500, 500];

function openChannel(talk: Talk, session: OpenSession) {
  const { suite, keys, consoleId, theirs } = session;
  let sequence = 0;
  let rqSeq = 0;
  let checksumsWrong = false;
  let closed = false;

  const sealed = (message: Buffer): Buffer => {
    // Counts every send including resends. 0 means "no session" and is skipped.
    sequence = sequence === 0xffffffff ? 1 : sequence + 1;
    const iv = suite.encrypted ? talk.chance.bytes(16) : Buffer.alloc(0);
    return seal({ suite, keys, session: theirs }, sequence, message, iv);
  };
  const closing = (): Buffer => {
    rqSeq = (rqSeq + 1) & 0x3f;
    return sealed(request(COMMANDS.close, rqSeq, wireNumber(theirs)));
  };
  const abandon = (): void => {
    if (closed) return;
    closed = true;
    talk.send(closing());
    forget(keys);
  };
  return {
    /** As `close` without waiting, if no time is left or the session may not be open. */
    abandon,
    /** Null without an answer. Retries a busy BMC a few times after a pause. */
    async ask(command: Command, data: readonly number[] = [], waits: readonly number[] = WAITS) {
      let busy: Response | null = null;
      for (const pause of [...BUSY_PAUSES, null]) {
        rqSeq = (rqSeq + 1) & 0x3f;
        const [message, sequence] = [request(command, rqSeq, data), rqSeq];
        const accept = (datagram: Buffer): Response | null =>
          answerIn(datagram, session, command, sequence);
        const response = await talk.exchange(() => sealed(message), waits, accept);
        // Silence at the deadline does not override an earlier answer.
        if (response === null) return talk.expired() ? busy : null;
        checksumsWrong ||= !response.checksumsGood;
        if (pause === null || !isTryAgain(response.code)) return response;
        busy = response;
        await talk.pause(pause);
      }
      return busy;
    },
    /** Whether an answer had wrong checksums. */
    checksumsWrong: () => checksumsWrong,
    /**
     * Frees the slot and the keys. Sends at most twice, waits half a second each, and ignores the
     * answer. It also runs after an abort, because an open session takes a slot from the conductor.
     */
    async close(): Promise<void> {
      if (closed) return;
      if (talk.expired()) return abandon();
      closed = true;
      // The answer is not decrypted, because it changes nothing: a forged one can only end this
      // wait.
      const accept = (reply: Buffer): true | null => sessionIdOf(reply) === consoleId || null;
      await talk.exchange(closing, CLOSE_WAITS, accept, true);
      forget(keys);
    },
  };
}

/** Null if the datagram is not the answer to this command. */
function answerIn(
  datagram: Buffer,
  { suite, keys, consoleId }: OpenSession,
  command: Command,
  sequence: number,
): Response | null {
  const packet = parsePacket(datagram);
  if (packet === null || packet.session !== consoleId || packet.type !== PAYLOAD.ipmi) return null;
  const message = open(suite, keys, packet);
  const response = message === null ? null : parseResponse(message);
  if (response === null || !answers(response, command, sequence)) return null;
  return response.code === DUPLICATE ? null : response;
}

function wireNumber(value: number): readonly number[] {
  return [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);
}
