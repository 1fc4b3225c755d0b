import { MigrationError } from "../model/error.ts";

/** `://user:password@`; what looks like a port and is followed by a path is no password. */
const LOGIN = /:\/\/[^:/@\s]*:(?!\d{1,5}(?:[/?]|$))[^@]+@/s;
const QUERY = /:\/\/.*[?&][\w-]*(?:pass|pwd)[\w-]*=[^&]/is;

const REST = "Give user and password in OS_* variables or in clouds.yaml (--os-cloud).";

/**
 * Looks at the command line before it is parsed: what is wrong with it is told by quoting it, and an
 * address with its password may stand where no option wants one.
 *
 * @throws MigrationError N2I-E101 naming the option, never the address
 */
export function checkWords(words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    if (!LOGIN.test(word) && !QUERY.test(word)) continue;
    const before = words[at - 1] ?? "";
    const [option] = /^--?[\w-]+(?==)/.exec(word) ?? /^--?[\w-]+$/.exec(before) ?? ["an argument"];
    throw new MigrationError(
      "N2I-E101",
      `${option}: the address holds a password`,
      option === "--ironic-url" ? { fix: REST } : {},
    );
  }
}
