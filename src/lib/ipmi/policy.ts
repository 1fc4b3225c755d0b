import { codeText, hex, isBusy } from "./commands.ts";
import type { Suite } from "./crypto.ts";

/** Privilege level of a login. */
export type Level = "ADMINISTRATOR" | "OPERATOR";

/** Privilege levels in commands. */
export const LEVELS = { OPERATOR: 3, ADMINISTRATOR: 4 } as const;

/**
 * Result for one BMC.
 * - `port-closed`: the host answers that nothing listens on the port.
 * - `silent`: it answered at first. Datagrams may be lost, so nothing was refused.
 * - `deadline`: no lasting result before the deadline, and no known fault.
 * - `incomplete`: unusable address or user, so nothing was sent.
 * @source facts/ipmi.md 4.4
 */
export type BmcVerdict =
  | "ok"
  | "unreachable"
  | "port-closed"
  | "no-ipmi2"
  | "cipher-refused"
  | "no-slots"
  | "wrong-user"
  | "wrong-password"
  | "wrong-kg"
  | "privilege-refused"
  | "busy"
  | "protocol-error"
  | "silent"
  | "deadline"
  | "incomplete";

export interface Diagnosis {
  readonly verdict: BmcVerdict;
  /** One clause, without secrets. */
  readonly detail: string;
  /** What to check first, if the verdict does not name it. */
  readonly likely?: "user";
}

/** Thrown if a session cannot be opened or does not answer. */
export class IpmiError extends Error {
  override readonly name = "IpmiError";
  /** Null if this host cannot send requests. */
  readonly verdict: BmcVerdict | null;

  constructor(verdict: BmcVerdict | null, detail: string, options: { cause?: unknown } = {}) {
    super(detail, options);
    this.verdict = verdict;
  }
}

/** Parameters of one login. */
export interface Attempt {
  readonly suite: Suite;
  readonly level: Level;
  /** Whether Open Session has the level, instead of 0 for the highest. Quirk Q3. */
  readonly namesLevel: boolean;
}

/** The answer that a login waits for. */
export type LoginStage = "Open Session" | "RAKP 2" | "RAKP 4" | "session";

/** Why a login, or a command after it, failed. */
export type LoginFailure =
  | { readonly kind: "silent"; readonly stage: LoginStage }
  | { readonly kind: "status"; readonly stage: LoginStage; readonly status: number }
  | { readonly kind: "mismatch"; readonly of: "password" | "kg" }
  /** The level is refused. */
  | { readonly kind: "level"; readonly code: number }
  | { readonly kind: "busy"; readonly code: number }
  | { readonly kind: "code"; readonly command: string; readonly code: number }
  | { readonly kind: "odd"; readonly detail: string };

/** Failure of a command with a nonzero completion code. */
export function refusedBy(command: string, code: number): LoginFailure {
  if (code === 0xd4) return { kind: "level", code };
  return isBusy(code) ? { kind: "busy", code } : { kind: "code", command, code };
}

/** RMCP+ statuses of Open Session and RAKP. @source facts/ipmi.md 2.8 */
const STATUSES: { readonly [status: number]: readonly [string, BmcVerdict] } = {
  1: ["insufficient resources for a session", "no-slots"],
  2: ["invalid session id", "protocol-error"],
  4: ["invalid authentication algorithm", "cipher-refused"],
  5: ["invalid integrity algorithm", "cipher-refused"],
  8: ["inactive session id", "protocol-error"],
  9: ["invalid role", "privilege-refused"],
  10: ["role not allowed", "privilege-refused"],
  11: ["no slot for this role", "no-slots"],
  12: ["invalid name length", "wrong-user"],
  13: ["unknown user name", "wrong-user"],
  14: ["invalid GUID", "protocol-error"],
  15: ["integrity check value rejected", "wrong-password"],
  16: ["invalid confidentiality algorithm", "cipher-refused"],
  17: ["no cipher suite matches", "cipher-refused"],
  18: ["illegal parameter", "protocol-error"],
};

/** Some BMCs return these in RAKP 2 for an unknown user name. */
const NAME_PERHAPS: readonly number[] = [0x01, 0x12];

/** Verdict if no further login can help. */
function diagnosisOf(failure: LoginFailure): Diagnosis {
  switch (failure.kind) {
    case "silent": {
      const { stage } = failure;
      const before = stage === "session" ? "the end of the session" : stage;
      return { verdict: "silent", detail: `stopped responding before ${before}` };
    }
    case "status": {
      const { stage, status } = failure;
      const [meaning, verdict] = STATUSES[status] ?? ["unknown status", "protocol-error"];
      const detail = `${stage} returned ${hex(status)}: ${meaning}`;
      if (stage !== "RAKP 2" || !NAME_PERHAPS.includes(status)) return { verdict, detail };
      return { verdict, detail: `${detail}, probably an unknown user name`, likely: "user" };
    }
    case "mismatch":
      return failure.of === "password"
        ? { verdict: "wrong-password", detail: "RAKP 2 does not match this password" }
        : { verdict: "wrong-kg", detail: "RAKP 4 was computed with a different Kg" };
    case "level":
      return {
        verdict: "privilege-refused",
        detail: `a command returned ${codeText(failure.code)}`,
      };
    case "busy":
      return busyWith(failure.code);
    case "code":
      return {
        verdict: "protocol-error",
        detail: `${failure.command} returned ${codeText(failure.code)}`,
      };
    case "odd":
      return { verdict: "protocol-error", detail: failure.detail };
  }
}

export function busyWith(code: number): Diagnosis {
  return { verdict: "busy", detail: `repeatedly returned ${codeText(code)}` };
}

const NO_SUITES: ReadonlyMap<number, number> = new Map();

/** History of the logins to this BMC. */
type Tried = Readonly<typeof NOTHING_YET>;

export const NOTHING_YET = {
  /** Logins with an invalid answer. */
  odd: 0,
  /** Rounds without a free session. */
  noRoom: 0,
  /** Suites refused at this level, with the status. Each is tried once. */
  refused: NO_SUITES,
  busy: 0,
  /** Whether the BMC reported that it has no free session. */
  full: false,
  /** Logins without an answer, and those of them after the user name was sent. */
  silences: 0,
  namesUnanswered: 0,
  /** Whether any RAKP 2 arrived, so that silence is not caused by the user name. */
  nameAnswered: false,
  /** RAKP 2 with another password, or with the level of Open Session. Quirk Q3. */
  mismatches: 0,
  /** RAKP 4 with another Kg. */
  kgMismatches: 0,
};

type NextStep =
  | {
      readonly do: "again";
      readonly attempt: Attempt;
      /** Milliseconds. */
      readonly pause: number;
      readonly tried: Tried;
    }
  | { readonly do: "end"; readonly diagnosis: Diagnosis };

const ODD_TRIES = 6;
/** A single mismatch may be an error of the BMC, but the verdict would discard the credentials. */
const MISMATCHES = 2;
/**
 * Milliseconds for an answer, by the number of lost logins, in a cycle. Long waits suit slow BMCs,
 * as ipmitool's 5 s. Short waits suit lossy networks.
 */
const STAGE_WAITS = [2000, 2000, 3000, 2000, 4000, 2000, 5000, 2000] as const;
const BUSY_SESSIONS = 3;
/** Ten seconds. A BMC that stays full is retried in the second pass. */
const NO_ROOM_ROUNDS = 3;
/** Milliseconds between commands to one BMC, as in Ironic. Quirks Q16 and Q17. */
export const GAP = 5000;
/** Silences after which the verdict at the deadline is "silent". */
const SILENCES = 3;
/** If only the user name is unanswered, stop after this many silences. */
const SILENT_NAMES = 8;

/** No free session. Some boards refuse a suite with this status. Quirk Q10. */
export const NO_ROOM = 0x01;
const NO_SLOT: readonly number[] = [NO_ROOM, 0x0b];
/** A RAKP message was lost, and the BMC is still in the previous login. */
const STALE: readonly number[] = [0x02, 0x08];
const ROLE: readonly number[] = [0x09, 0x0a];
const ALGORITHM: readonly number[] = [0x04, 0x05, 0x10, 0x11];
/** Some boards return these at Open Session to refuse the suite. Quirks Q9 and Q10. */
const SUITE_AT_OPEN: readonly number[] = [...ALGORITHM, ...ROLE, 0x01, 0x12];

/** Verdicts that are valid at the deadline, if they did not change. */
const LASTING: readonly BmcVerdict[] = ["busy", "no-slots", "silent"];

const FULL: Diagnosis = diagnosisOf({ kind: "status", stage: "Open Session", status: NO_ROOM });
const MISMATCH: Diagnosis = diagnosisOf({ kind: "mismatch", of: "password" });

/** A failed login and the history including it. */
interface Failed {
  readonly attempt: Attempt;
  readonly tried: Tried;
  readonly diagnosis: Diagnosis;
}

/**
 * Next step after a failed login: log in again, with other parameters or later, or end. A refused
 * name is never retried, a password or Kg once. Silence is no refusal, because a datagram may be
 * lost, so another login follows until the deadline.
 * @param suites in order of preference, not empty
 * @param chance at least 0, below 1
 * @source facts/ipmi.md 2.9, 4.3, 5.5, 6.4
 */
export function decide(
  failure: LoginFailure,
  attempt: Attempt,
  before: Tried,
  suites: readonly Suite[],
  chance: number,
): NextStep {
  const tried = noted(failure, before);
  const failed: Failed = { attempt, tried, diagnosis: diagnosisOf(failure) };
  switch (failure.kind) {
    case "silent":
      return onlyAtName(tried) ? end(silence(failure, tried)) : again(failed);
    case "odd":
      return tried.odd < ODD_TRIES ? again(failed) : end(failed.diagnosis);
    case "mismatch":
      if (failure.of === "kg")
        return tried.kgMismatches < MISMATCHES ? again(failed) : end(failed.diagnosis);
      return isMismatched(tried) ? lower(failed) : again(failed);
    case "level":
      return lower(failed);
    case "busy":
      return tried.busy < BUSY_SESSIONS ? again(failed, {}, GAP) : end(failed.diagnosis);
    case "code":
      return end(failed.diagnosis);
    case "status": {
      const { stage, status } = failure;
      if ((stage === "Open Session" ? SUITE_AT_OPEN : ALGORITHM).includes(status))
        return otherSuite(failed, status, suites);
      if (NO_SLOT.includes(status)) return later(failed);
      if (STALE.includes(status))
        return tried.odd < ODD_TRIES
          ? again(failed, {}, 500 + chance * 1500)
          : end(failed.diagnosis);
      return ROLE.includes(status) ? lower(failed) : end(failed.diagnosis);
    }
  }
}

/** Whether RAKP 2 does not match the password at the requested level. */
export function isMismatched({ mismatches }: Tried): boolean {
  return mismatches >= MISMATCHES;
}

function end(diagnosis: Diagnosis): NextStep {
  return { do: "end", diagnosis };
}

function again(
  { attempt, tried }: Omit<Failed, "diagnosis">,
  change: Partial<Attempt> = {},
  pause = 0,
): NextStep {
  return { do: "again", attempt: { ...attempt, ...change }, pause, tried };
}

/** As the conductor's ipmitool: ADMINISTRATOR requests 0, OPERATOR its number. */
function lower({ attempt, tried, diagnosis }: Failed): NextStep {
  if (attempt.level !== "ADMINISTRATOR") return end(isMismatched(tried) ? MISMATCH : diagnosis);
  const anew = { attempt, tried: { ...tried, refused: new Map() } };
  return again(anew, { level: "OPERATOR", namesLevel: true });
}

/** Tries the next suite, or retries one that may have lacked a free session. */
function otherSuite(failed: Failed, status: number, suites: readonly Suite[]): NextStep {
  const { attempt, tried } = failed;
  const refused = new Map(tried.refused).set(attempt.suite.id, status);
  const other = suites.find(({ id }) => !refused.has(id));
  if (other !== undefined)
    return again({ attempt, tried: { ...tried, refused } }, { suite: other });
  const full = suites.find(({ id }) => refused.get(id) === NO_ROOM);
  if (full !== undefined) {
    const permanent = new Map([...refused].filter(([, one]) => one !== NO_ROOM));
    return later({ ...failed, tried: { ...tried, refused: permanent } }, { suite: full });
  }
  const isRole = [...refused.values()].some((one) => ROLE.includes(one));
  return isRole ? lower(failed) : end(failed.diagnosis);
}

function later({ attempt, tried, diagnosis }: Failed, change: Partial<Attempt> = {}): NextStep {
  if (tried.noRoom + 1 >= NO_ROOM_ROUNDS)
    return end(diagnosis.verdict === "no-slots" ? diagnosis : FULL);
  return again({ attempt, tried: { ...tried, noRoom: tried.noRoom + 1 } }, change, GAP);
}

function onlyAtName({ silences, namesUnanswered, nameAnswered }: Tried): boolean {
  return !nameAnswered && namesUnanswered >= SILENT_NAMES && namesUnanswered === silences;
}

/** Verdict for silence. It is never a refusal. */
function silence(failure: LoginFailure & { kind: "silent" }, before: Tried): Diagnosis {
  // A lost datagram at the end does not change the fault.
  if (before.full) return FULL;
  if (before.nameAnswered || before.namesUnanswered < SILENCES) return diagnosisOf(failure);
  const detail = "stops responding after the user name: lost datagrams, or an unknown user";
  return { verdict: "silent", detail };
}

/**
 * The verdict at the deadline. A failure that another suite, level or login might resolve is not a
 * verdict.
 * @param last failure of the last complete login, else null
 */
export function outOfTime(last: LoginFailure | null, before: Tried): Diagnosis {
  if (last === null)
    return { verdict: "deadline", detail: "responds, but too slowly for the deadline" };
  const lasting = last.kind === "silent" ? silence(last, before) : diagnosisOf(last);
  // The first "no free session" may refuse the suite, until the other suite was also tried.
  const isConclusive =
    lasting.verdict === "no-slots"
      ? before.noRoom > 0
      : lasting.verdict !== "silent" || before.silences >= SILENCES;
  if (LASTING.includes(lasting.verdict) && isConclusive) return lasting;
  return { verdict: "deadline", detail: `deadline reached, last result: ${lasting.detail}` };
}

export function stageWait({ silences }: Tried): number {
  return STAGE_WAITS[silences % STAGE_WAITS.length] ?? STAGE_WAITS[0];
}

function noted(failure: LoginFailure, before: Tried): Tried {
  const atName = "stage" in failure && failure.stage === "RAKP 2";
  const isMismatch = failure.kind === "mismatch";
  return {
    ...before,
    full:
      failure.kind === "status" && NO_SLOT.includes(failure.status)
        ? true
        : before.full && !("stage" in failure && failure.stage !== "Open Session"),
    busy: before.busy + (failure.kind === "busy" ? 1 : 0),
    odd: before.odd + (failure.kind === "odd" || isStale(failure) ? 1 : 0),
    silences: before.silences + (failure.kind === "silent" ? 1 : 0),
    mismatches: before.mismatches + (isMismatch && failure.of === "password" ? 1 : 0),
    kgMismatches: before.kgMismatches + (isMismatch && failure.of === "kg" ? 1 : 0),
    namesUnanswered: before.namesUnanswered + (atName && failure.kind === "silent" ? 1 : 0),
    nameAnswered:
      before.nameAnswered ||
      (atName && failure.kind === "status") ||
      ("stage" in failure && (failure.stage === "RAKP 4" || failure.stage === "session")),
  };
}

function isStale(failure: LoginFailure): boolean {
  return failure.kind === "status" && STALE.includes(failure.status);
}
