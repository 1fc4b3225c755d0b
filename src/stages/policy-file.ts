import { readFileSync } from "node:fs";
import { type AskedRule, defaultPolicy, type Policy, readPolicy } from "../core/policy/read.ts";
import { MigrationError, systemWords } from "../model/error.ts";

/** The policy of what is served, which may be read again. */
export interface PolicyInForce {
  readonly current: () => Policy;
  readonly inWords: () => string;
  /** @returns what came of it */
  readonly reload: () => string;
}

/**
 * @param file Nova's; without one its own rules count
 * @param asked what the service asks for
 * @throws MigrationError N2I-E109
 */
export function openPolicy(file: string | undefined, asked: readonly AskedRule[]): PolicyInForce {
  const read = (): Policy =>
    file === undefined ? defaultPolicy(asked) : readPolicy(textOf(file), file, asked);
  let current = read();
  return {
    current: () => current,
    inWords: () => (file === undefined ? "policy Nova's own (role:admin)" : `policy ${file}`),
    reload() {
      if (file === undefined) return "There is no policy file to read again.";
      try {
        current = read();
        return `${file} was read again, and its rules are in force.`;
      } catch (error) {
        // Whatever it is, it must not end what is served.
        const why = error instanceof Error ? error.message : String(error);
        return `${file} was not taken, and the rules from before stay in force: ${why}`;
      }
    },
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new MigrationError("N2I-E109", `${file} cannot be read: ${systemWords(cause)}`, {
      cause,
    });
  }
}
