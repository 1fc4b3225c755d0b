import { MigrationError } from "../../lib/error.ts";
import { mayPass, pause, TRIES } from "./passing.ts";
import { type Answer, refusedCall, type ServiceSession } from "./session.ts";

/** The state of a change: made, open, or the reason why it cannot be made. */
export type CallState = "made" | "open" | { readonly reason: string };

/**
 * Reads the state before each try, because the response may have been lost.
 *
 * @param isFinal further responses that must not be retried; a 403 among them is not a fault of the
 *   login
 * @returns null, or the reason of the refusal
 * @throws MigrationError N2I-E211 if the login is refused, N2I-E210 if the outcome is unknown
 */
export async function settled(
  session: Pick<ServiceSession, "url">,
  what: string,
  read: () => Promise<CallState>,
  call: () => Promise<Answer>,
  isFinal: (answer: Answer) => boolean = () => false,
): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    const state = await read();
    if (state === "made") return null;
    if (state !== "open") return state.reason;
    const answer = await call();
    if (answer.status >= 200 && answer.status < 300) return null;
    if (answer.status === 403 && !isFinal(answer)) throw refusedCall(session, what, answer);
    if (!mayPass(answer) || isFinal(answer)) {
      const after = await read();
      if (after === "made") return null;
      return after === "open" ? `${what} is refused: ${answer.fault}` : after.reason;
    }
    if (tries === TRIES) {
      if (answer.status === 409) return `${what} is refused: ${answer.fault}`;
      throw new MigrationError(
        "N2I-E210",
        `${session.url} did not report the outcome of ${what}: ${answer.fault}`,
      );
    }
    await pause(tries);
  }
}

/** Reads to find the effect of an accepted call. */
const READS = 4;

/** For calls with immediate effect. Does not repeat the call: another user may have reverted it. */
export async function settledOnce(...args: Parameters<typeof settled>): Promise<string | null> {
  const [, what, read] = args;
  const reason = await settled(...args);
  for (let reads = 0; reason === null && reads < READS; reads += 1) {
    if (reads > 0) await pause(reads);
    const state = await read();
    if (state !== "open") return state === "made" ? null : state.reason;
  }
  return reason ?? `${what} was accepted without effect`;
}
