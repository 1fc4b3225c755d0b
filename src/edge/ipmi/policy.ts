import type { Attempt, Failure, Outcome } from "./outcome.ts";
import type { Suite } from "./suites.ts";
import { type Verdict, verdictOf } from "./verdicts.ts";

/** What earlier logins to this BMC have shown. */
export interface History {
  /** Logins that were answered with what makes no sense. */
  readonly odd: number;
  /** Rounds in which the BMC had no room for a session. */
  readonly noRoom: number;
  /** Suites refused at this level, with the status; each is asked for once. */
  readonly refused: ReadonlyMap<number, number>;
  readonly busy: number;
  /** Whether the BMC said that it has no room for a session. */
  readonly full: boolean;
  /** Logins that ended in silence, and those of them that did so after the user's name was sent. */
  readonly silences: number;
  readonly namesUnanswered: number;
  /** Whether any RAKP 2 came back, so that silence is not about the name. */
  readonly nameAnswered: boolean;
  /** Whether RAKP 2 was made with another password, or with the level of Open Session. Quirk Q3. */
  readonly mismatched: boolean;
}

export type Decision =
  | {
      readonly do: "again";
      readonly attempt: Attempt;
      /** Milliseconds. */
      readonly pause: number;
      readonly history: History;
    }
  | { readonly do: "end"; readonly verdict: Verdict };

export const NOTHING_YET: History = {
  odd: 0,
  noRoom: 0,
  refused: new Map(),
  busy: 0,
  full: false,
  silences: 0,
  namesUnanswered: 0,
  nameAnswered: false,
  mismatched: false,
};

const ODD_TRIES = 6;
/**
 * Milliseconds to wait for an answer, by the logins that were lost before, and again from the start:
 * slow BMCs pass where ipmitool's 5 s let them, and where datagrams are lost most waits are short.
 */
const STAGE_WAITS = [2000, 2000, 3000, 2000, 4000, 2000, 5000, 2000] as const;
const BUSY_SESSIONS = 3;
/** Ten seconds: who is full for longer is looked at again later, and holds nobody up. */
const NO_ROOM_ROUNDS = 3;
/** Milliseconds Ironic leaves between commands to one BMC, too. Quirks Q16 and Q17. */
export const GAP = 5000;
/** So much silence is worth a word of its own when time is over. */
const SILENCES = 3;
/** Silence after the name this often, and nowhere else, is not worth the rest of the time. */
const SILENT_NAMES = 8;

const NO_SLOT: readonly number[] = [0x01, 0x0b];
/** A RAKP message was lost, and the BMC still thinks of the login before it. */
const STALE: readonly number[] = [0x02, 0x08];
const ROLE: readonly number[] = [0x09, 0x0a];
const ALGORITHM: readonly number[] = [0x04, 0x05, 0x10, 0x11];
/** Boards say all of these at Open Session when they mean the suite. Quirks Q9 and Q10. */
const SUITE_AT_OPEN: readonly number[] = [...ALGORITHM, ...ROLE, 0x01, 0x12];

/** Seen as often as time allowed, and the same from the first time to the last. */
const LASTING: readonly Verdict["verdict"][] = ["busy", "no-slots", "silent"];

const NO_ROOM: Verdict = verdictOf({ kind: "status", stage: "Open Session", status: 0x01 });

/**
 * What to do after a login that brought no power state: log in again, otherwise or later, or end.
 * A password, name or Kg that was refused is never tried again. Silence refuses nothing, as any
 * datagram may be lost: it is met by another login for as long as there is time.
 *
 * @param suites in order of preference, not empty
 * @param chance at least 0, below 1
 * @source facts/ipmi.md 2.9, 4.3, 5.5, 6.4
 */
export function decide(
  outcome: Failure,
  attempt: Attempt,
  before: History,
  suites: readonly Suite[],
  chance: number,
): Decision {
  const history = noted(outcome, before);
  const end: Decision = { do: "end", verdict: verdictOf(outcome) };
  const again = (change: Partial<Attempt>, pause: number, known: History = history): Decision => ({
    do: "again",
    attempt: { ...attempt, ...change },
    pause,
    history: known,
  });
  const counted = (pause: number): Decision => (history.odd < ODD_TRIES ? again({}, pause) : end);
  const noRoom = (change: Partial<Attempt> = {}, known = history): Decision =>
    known.noRoom + 1 < NO_ROOM_ROUNDS
      ? again(change, GAP, { ...known, noRoom: known.noRoom + 1 })
      : { do: "end", verdict: NO_ROOM };
  // As the conductor's ipmitool: ADMINISTRATOR asks for "the highest", OPERATOR by its number.
  const lower = (): Decision => {
    if (attempt.level === "ADMINISTRATOR")
      return again({ level: "OPERATOR", namesLevel: true }, 0, { ...history, refused: new Map() });
    return history.mismatched ? { do: "end", verdict: verdictOf(MISMATCH) } : end;
  };

  switch (outcome.kind) {
    case "silent":
      return onlyAtName(history) ? { do: "end", verdict: silence(outcome, history) } : again({}, 0);
    case "odd":
      return counted(0);
    case "mismatch":
      return outcome.of === "password" ? lower() : end;
    case "level":
      return lower();
    case "busy":
      return history.busy < BUSY_SESSIONS ? again({}, GAP) : end;
    case "code":
      return end;
    case "status": {
      const { stage, status } = outcome;
      if (stage === "Open Session" ? SUITE_AT_OPEN.includes(status) : ALGORITHM.includes(status)) {
        const refused = new Map(history.refused).set(attempt.suite.id, status);
        const other = suites.find(({ id }) => !refused.has(id));
        if (other !== undefined) return again({ suite: other }, 0, { ...history, refused });
        const full = suites.find(({ id }) => refused.get(id) === 0x01);
        if (full !== undefined) return noRoom({ suite: full }, forgetRoom(refused));
        if ([...refused.values()].some((one) => ROLE.includes(one))) return lower();
        return end;
      }
      if (NO_SLOT.includes(status)) return noRoom();
      if (STALE.includes(status)) return counted(500 + chance * 1500);
      return ROLE.includes(status) ? lower() : end;
    }
  }

  /** Suites refused for want of room are asked again, the others not. */
  function forgetRoom(refused: ReadonlyMap<number, number>): History {
    return { ...history, refused: new Map([...refused].filter(([, status]) => status !== 0x01)) };
  }
}

const MISMATCH: Failure = { kind: "mismatch", of: "password" };

function onlyAtName({ silences, namesUnanswered, nameAnswered }: History): boolean {
  return !nameAnswered && namesUnanswered >= SILENT_NAMES && namesUnanswered === silences;
}

/** What silence means after all that came before it; never that something is refused. */
function silence(outcome: Failure & { kind: "silent" }, before: History): Verdict {
  // A loss at the end does not make it another fault than it was all the time.
  if (before.full) return NO_ROOM;
  if (before.nameAnswered || before.namesUnanswered < SILENCES) return verdictOf(outcome);
  const detail = "goes silent when it is told the user's name: lost datagrams, or an unknown name";
  return { verdict: "silent", detail };
}

/**
 * The verdict when time is over. What more time could have bettered at once is no verdict: another
 * suite or level was still to be asked for, or a datagram may have been lost.
 *
 * @param last outcome of the last login that was not cut short; null when there was none
 */
export function outOfTime(last: Failure | null, before: History): Verdict {
  if (last === null)
    return { verdict: "deadline", detail: "answers, but too slowly for the deadline" };
  const lasting = last.kind === "silent" ? silence(last, before) : verdictOf(last);
  // The first "no room" may have meant the suite, until the other one was asked for, too.
  const known =
    lasting.verdict === "no-slots"
      ? before.noRoom > 0
      : lasting.verdict !== "silent" || before.silences >= SILENCES;
  if (LASTING.includes(lasting.verdict) && known) return lasting;
  return { verdict: "deadline", detail: `time is over; last seen: ${lasting.detail}` };
}

export function stageWait({ silences }: History): number {
  return STAGE_WAITS[silences % STAGE_WAITS.length] ?? STAGE_WAITS[0];
}

function noted(outcome: Outcome, before: History): History {
  const atName = "stage" in outcome && outcome.stage === "RAKP 2";
  return {
    ...before,
    full:
      outcome.kind === "status" && NO_SLOT.includes(outcome.status)
        ? true
        : before.full && !("stage" in outcome && outcome.stage !== "Open Session"),
    busy: before.busy + (outcome.kind === "busy" ? 1 : 0),
    odd: before.odd + (outcome.kind === "odd" || isStale(outcome) ? 1 : 0),
    silences: before.silences + (outcome.kind === "silent" ? 1 : 0),
    mismatched: before.mismatched || outcome.kind === "mismatch",
    namesUnanswered: before.namesUnanswered + (atName && outcome.kind === "silent" ? 1 : 0),
    nameAnswered:
      before.nameAnswered ||
      (atName && outcome.kind === "status") ||
      ("stage" in outcome && (outcome.stage === "RAKP 4" || outcome.stage === "session")),
  };
}

function isStale(outcome: Outcome): boolean {
  return outcome.kind === "status" && STALE.includes(outcome.status);
}
