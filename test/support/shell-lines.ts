import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { blocks, page } from "./manual.ts";

/** What the runbook has an administrator type to a shell, line by line. */
export const LINES = ["runbook", "runbook-juno"]
  .flatMap((name) => blocks(page(name), "sh"))
  .flatMap((block) => block.trimEnd().split("\n"));

/** Those that have this word; there is one. */
export function linesWith(word: string): readonly string[] {
  const found = LINES.filter((line) => line.includes(word));
  assert.notEqual(found.length, 0, word);
  return found;
}

/** Types a line to a shell whose home is this folder; what it said. */
export function typed(folder: string, line: string, env: { readonly [name: string]: string } = {}) {
  const all = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder, ...env };
  const ran = spawnSync("sh", ["-euc", line], { cwd: folder, env: all, encoding: "utf8" });
  assert.equal(ran.status, 0, `${line}\n${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}
