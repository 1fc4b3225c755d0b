import type { PowerVerdict } from "../../model/power.ts";
import { codeWords, hex } from "./codes.ts";
import type { Failure } from "./outcome.ts";

/** What an outcome means when no further login can better it. */
export interface Verdict {
  readonly verdict: PowerVerdict;
  /** One clause, without secrets. */
  readonly detail: string;
}

/** RMCP+ statuses of Open Session and RAKP. @source facts/ipmi.md 2.8 */
const STATUSES: { readonly [status: number]: readonly [string, PowerVerdict] } = {
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
  15: ["integrity check value refused", "wrong-password"],
  16: ["invalid confidentiality algorithm", "cipher-refused"],
  17: ["no cipher suite matches", "cipher-refused"],
  18: ["illegal parameter", "protocol-error"],
};

/** The verdict on `outcome`, taken alone. */
export function verdictOf(outcome: Failure): Verdict {
  switch (outcome.kind) {
    case "silent":
      return {
        verdict: "silent",
        detail: `answers, but goes silent before ${outcome.stage === "session" ? "the end of the session" : outcome.stage}`,
      };
    case "status": {
      const [words, verdict] = STATUSES[outcome.status] ?? ["no status we know", "protocol-error"];
      return { verdict, detail: `${outcome.stage} says ${hex(outcome.status)}: ${words}` };
    }
    case "mismatch":
      return outcome.of === "password"
        ? { verdict: "wrong-password", detail: "RAKP 2 is not made with this password" }
        : { verdict: "wrong-kg", detail: "RAKP 4 is made with another Kg" };
    case "level":
      return { verdict: "privilege-refused", detail: `a command says ${codeWords(outcome.code)}` };
    case "busy":
      return { verdict: "busy", detail: `says again and again ${codeWords(outcome.code)}` };
    case "code":
      return {
        verdict: "protocol-error",
        detail: `${outcome.command} says ${codeWords(outcome.code)}`,
      };
    case "odd":
      return { verdict: "protocol-error", detail: outcome.words };
  }
}
