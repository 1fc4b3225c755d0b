import { MigrationError } from "../../lib/error.ts";
import { mayPass, pause, TRIES } from "./passing.ts";
import { type Answer, refusedCall, type ServiceSession } from "./session.ts";

/** How a thing stands that a call is to change: made, still to be made, or neither, and why. */
export type Stand = "made" | "open" | { readonly why: string };

/**
 * Makes a change by a call that must not be made twice: it is looked at before each try, so that one whose
 * answer was lost counts as made.
 *
 * @param isFinal answers after which no other try is made, besides those that no try would change; a 403 among them is
 *   no fault of the login
 * @returns null, or why it is refused
 * @throws MigrationError N2I-E211 when the login may not, N2I-E210 when nobody says what became of it
 */
export async function settled(
  session: Pick<ServiceSession, "url">,
  what: string,
  look: () => Promise<Stand>,
  call: () => Promise<Answer>,
  isFinal: (answer: Answer) => boolean = () => false,
): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    const stand = await look();
    if (stand === "made") return null;
    if (stand !== "open") return stand.why;
    const answer = await call();
    if (answer.status >= 200 && answer.status < 300) return null;
    if (answer.status === 403 && !isFinal(answer)) throw refusedCall(session, what, answer);
    if (!mayPass(answer) || isFinal(answer)) {
      const after = await look();
      if (after === "made") return null;
      return after === "open" ? `${what} is refused: ${answer.fault}` : after.why;
    }
    if (tries === TRIES) {
      if (answer.status === 409) return `${what} is refused: ${answer.fault}`;
      throw new MigrationError(
        "N2I-E210",
        `${session.url} does not say what became of ${what}: ${answer.fault}`,
      );
    }
    await pause(tries);
  }
}

/** Looks for the effect of a call that was accepted. */
const LOOKS = 4;

/**
 * The same for a call that takes effect at once: the effect is checked after the answer. The call is not repeated,
 * because another user may have reverted it.
 */
export async function shown(...words: Parameters<typeof settled>): Promise<string | null> {
  const [, what, look] = words;
  const why = await settled(...words);
  for (let looks = 0; why === null && looks < LOOKS; looks += 1) {
    if (looks > 0) await pause(looks);
    const stand = await look();
    if (stand !== "open") return stand === "made" ? null : stand.why;
  }
  return why ?? `${what} was accepted and changed nothing`;
}
