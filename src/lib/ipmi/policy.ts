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

/** The logins to a BMC so far, and the parameters of the next one. */
export type Logins = ReturnType<typeof noLogins>;

export function noLogins(attempt: Attempt) {
  return {
    attempt,
    /** Failure of the last complete login. */
    last: null as LoginFailure | null,
    /** Logins with an invalid answer. */
    odd: 0,
    /** Rounds without a free session. */
    noRoom: 0,
    /** Suites refused at this level, with the status. Each is tried once. */
    refused: new Map<number, number>(),
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
}

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

/**
 * Next step after a failed login: log in again, with other parameters or later, or end. A refused
 * name is never retried, a password or Kg once. Silence is no refusal, because a datagram may be
 * lost, so another login follows until the deadline.
 * @param suites in order of preference, not empty
 * @param chance at least 0, below 1
 * @returns milliseconds until the next login, or the verdict
 * @source facts/ipmi.md 2.9, 4.3, 5.5, 6.4
 */
export function decide(
  failure: LoginFailure,
  logins: Logins,
  suites: readonly Suite[],
  chance: number,
): number | Diagnosis {
  note(failure, logins);
  const diagnosis = diagnosisOf(failure);
  switch (failure.kind) {
    case "silent":
      return onlyAtName(logins) ? silence(failure, logins) : 0;
    case "odd":
      return logins.odd < ODD_TRIES ? 0 : diagnosis;
    case "mismatch":
      if (failure.of === "kg") return logins.kgMismatches < MISMATCHES ? 0 : diagnosis;
      return isMismatched(logins) ? lower(logins, diagnosis) : 0;
    case "level":
      return lower(logins, diagnosis);
    case "busy":
      return logins.busy < BUSY_SESSIONS ? GAP : diagnosis;
    case "code":
      return diagnosis;
    case "status": {
      const { stage, status } = failure;
      if ((stage === "Open Session" ? SUITE_AT_OPEN : ALGORITHM).includes(status))
        return otherSuite(logins, status, suites, diagnosis);
      if (NO_SLOT.includes(status)) return later(logins, diagnosis);
      if (STALE.includes(status)) return logins.odd < ODD_TRIES ? 500 + chance * 1500 : diagnosis;
      return ROLE.includes(status) ? lower(logins, diagnosis) : diagnosis;
    }
  }
}

export const TOO_SLOW: Diagnosis = {
  verdict: "deadline",
  detail: "responds, but too slowly for the deadline",
};

/** Whether RAKP 2 does not match the password at the requested level. */
export function isMismatched({ mismatches }: Pick<Logins, "mismatches">): boolean {
  return mismatches >= MISMATCHES;
}

/** As the conductor's ipmitool: ADMINISTRATOR requests 0, OPERATOR its number. */
function lower(logins: Logins, diagnosis: Diagnosis): number | Diagnosis {
  const { attempt, refused } = logins;
  if (attempt.level !== "ADMINISTRATOR") return isMismatched(logins) ? MISMATCH : diagnosis;
  refused.clear();
  logins.attempt = { ...attempt, level: "OPERATOR", namesLevel: true };
  return 0;
}

/** Tries the next suite, or retries one that may have lacked a free session. */
function otherSuite(
  logins: Logins,
  status: number,
  suites: readonly Suite[],
  diagnosis: Diagnosis,
): number | Diagnosis {
  const { attempt, refused } = logins;
  refused.set(attempt.suite.id, status);
  const other = suites.find(({ id }) => !refused.has(id));
  const full = suites.find(({ id }) => refused.get(id) === NO_ROOM);
  const suite = other ?? full;
  if (suite === undefined) {
    const isRole = [...refused.values()].some((one) => ROLE.includes(one));
    return isRole ? lower(logins, diagnosis) : diagnosis;
  }
  logins.attempt = { ...attempt, suite };
  if (other !== undefined) return 0;
  for (const [id, one] of refused) if (one === NO_ROOM) refused.delete(id);
  return later(logins, diagnosis);
}

function later(logins: Logins, diagnosis: Diagnosis): number | Diagnosis {
  logins.noRoom += 1;
  if (logins.noRoom < NO_ROOM_ROUNDS) return GAP;
  return diagnosis.verdict === "no-slots" ? diagnosis : FULL;
}

function onlyAtName({ silences, namesUnanswered, nameAnswered }: Logins): boolean {
  return !nameAnswered && namesUnanswered >= SILENT_NAMES && namesUnanswered === silences;
}

/** Verdict for silence. It is never a refusal. */
function silence(failure: LoginFailure & { kind: "silent" }, before: Logins): Diagnosis {
  // A lost datagram at the end does not change the fault.
  if (before.full) return FULL;
  if (before.nameAnswered || before.namesUnanswered < SILENCES) return diagnosisOf(failure);
  const detail = "stops responding after the user name: lost datagrams, or an unknown user";
  return { verdict: "silent", detail };
}

/**
 * The verdict at the deadline. A failure that another suite, level or login might resolve is not a
 * verdict.
 */
export function outOfTime(before: Logins): Diagnosis {
  const { last } = before;
  if (last === null) return TOO_SLOW;
  const lasting = last.kind === "silent" ? silence(last, before) : diagnosisOf(last);
  // The first "no free session" may refuse the suite, until the other suite was also tried.
  const isConclusive =
    lasting.verdict === "no-slots"
      ? before.noRoom > 0
      : lasting.verdict !== "silent" || before.silences >= SILENCES;
  if (LASTING.includes(lasting.verdict) && isConclusive) return lasting;
  return { verdict: "deadline", detail: `deadline reached, last result: ${lasting.detail}` };
}

export function stageWait({ silences }: Pick<Logins, "silences">): number {
  return STAGE_WAITS[silences % STAGE_WAITS.length] ?? STAGE_WAITS[0];
}

function note(failure: LoginFailure, logins: Logins): void {
  logins.last = failure;
  const stage = "stage" in failure ? failure.stage : null;
  switch (failure.kind) {
    case "silent":
      logins.silences += 1;
      if (stage === "RAKP 2") logins.namesUnanswered += 1;
      break;
    case "mismatch":
      logins[failure.of === "kg" ? "kgMismatches" : "mismatches"] += 1;
      break;
    case "busy":
      logins.busy += 1;
      break;
    case "odd":
      logins.odd += 1;
      break;
    case "status":
      if (STALE.includes(failure.status)) logins.odd += 1;
      if (stage === "RAKP 2") logins.nameAnswered = true;
      break;
  }
  if (stage === "RAKP 4" || stage === "session") logins.nameAnswered = true;
  if (failure.kind === "status" && NO_SLOT.includes(failure.status)) logins.full = true;
  else if (stage !== null && stage !== "Open Session") logins.full = false;
}
