import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Argv } from "yargs";
import yargs from "yargs";
import { type Declared, declare } from "../../src/cli/options/declared.ts";
import type { NextCommand } from "../../src/run/next.ts";

export async function commandOf(name: NextCommand): Promise<Declared> {
  const places = ["", "host/", "node/", "window/"].map(
    (folder) => new URL(`../../src/cli/options/${folder}${name}.js`, import.meta.url),
  );
  const all: unknown = await import(String(places.find((place) => existsSync(place))));
  const found = Object.entries(all as object).find(([key]) => key === `${name}Options`);
  return found?.[1] as Declared; // the module of that name exports it
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
  return declare(program as Argv, await commandOf(command)).parseAsync();
}
