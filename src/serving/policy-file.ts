import { readFileSync } from "node:fs";
import { MigrationError, systemText } from "../lib/error.ts";
import type { TokenOwner } from "../model/served.ts";

import {
  allows,
  defaultPolicy,
  type Policy,
  type RequestedRule,
  readPolicy,
} from "./rules/policy.ts";

/**
 * @param file undefined for the rules in the service's code
 * @param origin the service that owns the default rules
 * @throws MigrationError N2I-E109
 */
export function openPolicy(
  file: string | undefined,
  requested: readonly RequestedRule[],
  origin = "Nova's",
) {
  const read = (): Policy =>
    file === undefined ? defaultPolicy(requested) : readPolicy(textOf(file), file, requested);
  let current = read();
  return {
    allows: (rule: RequestedRule, who: TokenOwner) => allows(current, rule, who),
    policyText: () => (file === undefined ? `policy ${origin} own (role:admin)` : `policy ${file}`),
    reload(): string {
      if (file === undefined) return "There is no policy file to reload.";
      try {
        current = read();
        return `${file} was reloaded, and its rules are in effect.`;
      } catch (error) {
        // A broken file must not end the service.
        const reason = error instanceof Error ? error.message : String(error);
        return `${file} was not reloaded, and the previous rules remain in effect: ${reason}`;
      }
    },
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new MigrationError("N2I-E109", `${file} cannot be read: ${systemText(cause)}`, { cause });
  }
}
