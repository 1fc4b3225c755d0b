import {
  type ConductorIpmitool,
  type PowerLevel,
  type PowerReading,
  suiteOrder,
} from "../../model/power.ts";
import { attemptOnce } from "./attempt.ts";
import { codeWords } from "./codes.ts";
import type { Capabilities, Chassis, Device } from "./commands.ts";
import type { Credentials } from "./credentials.ts";
import { discover, listSuites } from "./discover.ts";
import type { Chance, Clock, Line } from "./line.ts";
import type { Attempt, Failure } from "./outcome.ts";
import { decide, NOTHING_YET, outOfTime, stageWait } from "./policy.ts";
import { type Suite, suiteOf } from "./suites.ts";
import { startTalk, type Talk } from "./talk.ts";
import type { Verdict } from "./verdicts.ts";
import { type Known, warningsFor } from "./warnings.ts";

export interface SessionOptions {
  readonly conductor: ConductorIpmitool;
  /** Suites to ask for, in this order, instead of those the conductor would come to. */
  readonly suites: readonly number[] | null;
  /** The level to log in at first; ADMINISTRATOR unless given. */
  readonly level?: PowerLevel;
  /** Log in even where the BMC says that it does not speak 2.0. Quirk Q19. */
  readonly force: boolean;
}

export const SESSION_DEFAULTS: SessionOptions = {
  conductor: "1.8.19",
  suites: null,
  force: false,
};

/** A reading but for what the question and the caller know. */
export type Answer = Omit<PowerReading, "bm_node_ids" | "address" | "client" | "pass">;

interface End {
  readonly verdict: Verdict;
  readonly attempts: number;
  readonly suites: readonly number[] | null;
  readonly capabilities: Capabilities | null;
  /** Of the session that brought the power state. */
  readonly opened: {
    readonly suite: number;
    readonly level: PowerLevel;
    readonly chassis: Chassis;
    readonly device: Device | null;
    readonly checksumsWrong: boolean;
    readonly openLevel: boolean;
  } | null;
}

/**
 * Asks one BMC for its power state as the conductor would: as ADMINISTRATOR, then once as OPERATOR;
 * within the deadline, whatever the BMC does.
 *
 * @throws the signal's reason when it is aborted; an open session is closed then
 * @source facts/ipmi.md 2.7-2.9, 4.3, 5.5
 */
export async function askPower(
  line: Line,
  credentials: Credentials,
  environment: { readonly clock: Clock; readonly chance: Chance },
  limits: { readonly deadline: number; readonly signal: AbortSignal },
  options: SessionOptions = SESSION_DEFAULTS,
): Promise<Answer> {
  const { clock, chance } = environment;
  const asked_at = clock.date().toISOString();
  const talk = startTalk(line, clock, chance, limits);
  const end = await ask(talk, line, credentials, options).finally(talk.end);
  const { opened, capabilities, suites } = end;
  const rtt = talk.rtt();
  const known: Known = {
    verdict: end.verdict.verdict,
    suite: opened?.suite ?? null,
    suites,
    kg: capabilities?.kg ?? null,
    kgGiven: credentials.kg !== null,
    privilege: opened?.level ?? null,
    nullUsers: capabilities?.nullUsers ?? false,
    passwordCut: credentials.cut,
    updating: opened?.device?.updating ?? false,
    fault: opened?.chassis.fault ?? false,
    checksumsWrong: opened?.checksumsWrong ?? false,
    openLevel: opened?.openLevel ?? false,
  };
  return {
    power: opened?.chassis.power ?? null,
    ...end.verdict,
    suite: known.suite,
    suites,
    kg: known.kg,
    privilege: known.privilege,
    device: opened?.device?.device ?? null,
    manufacturer: opened?.device?.manufacturer ?? null,
    firmware: opened?.device?.firmware ?? null,
    attempts: end.attempts,
    rtt: rtt === null ? null : tenths(rtt),
    elapsed: tenths(talk.elapsed()),
    asked_at,
    warnings: warningsFor(known),
    // For which conductor, and whether it has what to set, is not known here.
    advice: [],
  };
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

async function ask(
  talk: Talk,
  line: Line,
  credentials: Credentials,
  options: SessionOptions,
): Promise<End> {
  const found = await discover(talk);
  const nothing = { attempts: 0, suites: null, capabilities: null, opened: null };
  if (found.kind === "silent") return { ...nothing, verdict: silence(talk, line) };
  if (found.kind === "busy") {
    const detail = `says again and again ${codeWords(found.code)}`;
    return { ...nothing, verdict: { verdict: "busy", detail } };
  }
  if (found.kind === "only-1.5" && !options.force) {
    const detail = "speaks IPMI 1.5 only, which nova-baremetal did not use";
    return { ...nothing, verdict: { verdict: "no-ipmi2", detail } };
  }
  if (found.kind === "cut") return { ...nothing, verdict: outOfTime(null, NOTHING_YET) };
  const capabilities = found.kind === "capabilities" ? found.capabilities : null;
  const patience = found.kind === "only-1.5-form" ? MUTE_LOGINS : Infinity;
  const suites = await listSuites(talk);
  const wanted = (options.suites ?? suiteOrder(options.conductor, suites)).flatMap(
    (id) => suiteOf(id) ?? [],
  );
  const { level = "ADMINISTRATOR" } = options;
  return { ...(await logins(talk, credentials, wanted, level, patience)), suites, capabilities };
}

/** Logins to a BMC that was silent to every message of 2.0, and may know 1.5 alone. */
const MUTE_LOGINS = 6;
const MUTE: Verdict = {
  verdict: "silent",
  detail: "answers IPMI 1.5 and nothing of 2.0: lost datagrams, or it is too old",
};

/**
 * Logs in until there is an answer, a verdict, or no time left.
 *
 * @param patience logins without any answer at most
 */
async function logins(
  talk: Talk,
  credentials: Credentials,
  suites: readonly Suite[],
  level: PowerLevel,
  patience: number,
): Promise<Pick<End, "verdict" | "attempts" | "opened">> {
  const [first] = suites;
  if (first === undefined) throw new RangeError("no cipher suite that this client speaks");
  const firstTag = talk.chance.bytes(1).readUInt8();
  // As the conductor's ipmitool, which names every level but the highest.
  const namesLevel = level !== "ADMINISTRATOR";
  let attempt: Attempt = { suite: first, level, namesLevel };
  let history = NOTHING_YET;
  let last: Failure | null = null;
  for (let attempts = 1; ; attempts++) {
    const each = { tag: (firstTag + attempts) & 0xff, wait: stageWait(history) };
    const outcome = await attemptOnce(talk, credentials, attempt, each);
    if (outcome.kind === "answered") {
      const { suite, level } = attempt;
      const verdict: Verdict = { verdict: "ok", detail: `power is ${outcome.chassis.power}` };
      const openLevel = history.mismatched;
      return { verdict, attempts, opened: { ...outcome, suite: suite.id, level, openLevel } };
    }
    // A wait that was cut short is no silence.
    if (outcome.kind === "silent" && talk.expired())
      return { verdict: outOfTime(last, history), attempts, opened: null };
    const next = decide(outcome, attempt, history, suites, talk.chance.fraction());
    if (next.do === "end") return { verdict: next.verdict, attempts, opened: null };
    await talk.pause(next.pause);
    ({ attempt, history } = next);
    last = outcome;
    if (talk.expired()) return { verdict: outOfTime(last, history), attempts, opened: null };
    if (attempts >= patience && history.silences === attempts)
      return { verdict: MUTE, attempts, opened: null };
    await talk.renew();
  }
}

function silence(talk: Talk, line: Line): Verdict {
  if (talk.strays() > 0)
    return { verdict: "protocol-error", detail: "answers, but not as IPMI does" };
  const fault = line.fault();
  if (fault === "ECONNREFUSED")
    return { verdict: "port-closed", detail: "the host answers that nothing listens at this port" };
  return {
    verdict: "unreachable",
    detail: fault === null ? "does not answer" : `nothing could be sent: ${fault}`,
  };
}
