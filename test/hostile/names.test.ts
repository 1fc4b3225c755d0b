import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { quickSessions } from "../support/quick-sessions.ts";
import { run } from "./cli.ts";
import { deploy, privateFolder } from "./deployment.ts";
import { wholeCase, withTrees } from "./whole.ts";

/** What a path may hold on Linux, and a shell, a URL, a table or a terminal stumble over. */
const NAME = `it's "a" $(run)\n\u0428\u043a\u0430\u0444 \u05d0\u200f 100%41 #1?x=y&\t\\n\u001b[2J`;

test("whatever the files' names are, every command does its work, and each command that it names can be pasted", async (t) => {
  const home = privateFolder(t);
  const before = process.env.TMPDIR;
  mkdirSync(join(home, NAME));
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  quickSessions(t);
  const given = wholeCase();
  // Databases have plain names: they are named by URLs.
  const deployed = await deploy("sqlite", t, given, {}, (nova) => {
    process.env.TMPDIR = join(home, NAME);
    return Promise.resolve(nova);
  });
  const made = withTrees(deployed, given);
  const { at, extract, planning, reader, writer, novaReader, novaWriter, boot, check } = made;
  const both = [...at, ...writer, ...novaWriter, "--yes"];
  const tried: readonly (readonly string[])[] = [
    extract,
    planning,
    check,
    ["apply", ...both, "--staged"],
    [...boot, "--yes"],
    ["status", ...at],
    ["verify", ...at, ...reader, ...novaReader],
    ["handover", ...at, ...writer, "--yes", "--deadline", "1"],
    ["finish", ...at, ...writer, "--yes"],
    ["handover", ...at, ...writer, "--yes", "--undo", "--after-finish"],
    ["rollback", ...both, "--all", "--after-finish"],
  ];
  let lines = 0;
  for (const words of tried) {
    const ran = await run(words);
    const told = `${words.join(" ")}\n${ran.status}\n${ran.out}${ran.err}`;
    assert.ok([0, 1, 3].includes(ran.status), told);
    for (const line of commandsIn(ran.out + ran.err)) {
      const found = pasted(line);
      assert.notEqual(found, null, told);
      const given = found?.[(found ?? []).indexOf("--run") + 1];
      assert.equal(given, made.run, told);
      lines += 1;
    }
  }
  assert.ok(lines > 10, String(lines));
});

/** From each command's name on to the end. */
function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(/nova2ironic (?=[a-z]+ --run)/g)].map(({ index }) => text.slice(index));
}

/** What a shell makes of the first lines that are a whole command; null when none are. */
function pasted(text: string): readonly string[] | null {
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) {
    const line = text.slice(0, end);
    try {
      const script = `nova2ironic() { printf '%s\\0' "$@"; }; ${line}`;
      return execFileSync("sh", ["-c", script], { encoding: "utf8", stdio: "pipe" }).split("\0");
    } catch {
      // Not yet whole, or never.
    }
  }
  return null;
}
