import assert from "node:assert/strict";
import { run } from "./cli.ts";

export const ESCAPE = "\u001b]0;owned\u0007\u001b[2J";

/** Runs a command, which ends in words of its own, with one of these statuses, and touches no terminal. */
export async function unharmed(words: readonly string[], statuses: readonly number[]) {
  const ran = await run(words);
  const told = `${words.join(" ")}\n${ran.out}${ran.err}`.slice(0, 5000);
  for (const sign of ["\u001b", "\u0007", "node:internal", "N2I-E900"])
    assert.ok(!(ran.out + ran.err).includes(sign), told);
  assert.ok(statuses.includes(ran.status), told);
  return ran;
}
