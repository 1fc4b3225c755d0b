import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import type { Argv } from "yargs";
import yargs from "yargs";
import { declaredCommands } from "../../src/cli/commands/load.ts";
import { type Declared, declare, nameOf } from "../../src/cli/options/declared.ts";
import type { NextCommand } from "../../src/run/next.ts";

export function commandOf(name: NextCommand): Declared {
  return declaredCommands().find((one) => nameOf(one) === name) ?? { command: name, describe: "" };
}

export async function read(command: NextCommand, line: string) {
  const script = `nova2ironic() { printf '%s\\0' "$@"; }; ${line}`;
  const [name, ...words] = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
  assert.equal(name, command);
  const program = yargs(words.slice(0, -1))
    .exitProcess(false)
    .strict()
    .parserConfiguration({ "parse-numbers": false, "greedy-arrays": false })
    .fail((message, error) => {
      throw error ?? new Error(message ?? line);
    });
  return declare(program as Argv, commandOf(command)).parseAsync();
}
