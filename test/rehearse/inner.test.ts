import assert from "node:assert/strict";
import { execSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openJournal } from "../../src/edge/disk/journal.ts";
import { tellCopies } from "../../src/stages/rehearsal-file.ts";
import { tempRun } from "../edge/disk/temp-run.ts";
import { refused, runs } from "../hostile/cli.ts";
import { rehearsing } from "./scene.ts";

test("no command goes on with a rehearsal's own run, made by this version or an earlier one", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { words, run, at, writer, dump } = made;
  await runs(0, [...words, "--yes", "-q"]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const before = await dump();
  const inner = join(run, "rehearsal");
  assert.equal(existsSync(join(inner, "connections.yaml")), false);
  const isRefused = async (...command: readonly string[]): Promise<void> => {
    const asked = [...command, "--run", inner, "-q"];
    const { err } = await refused(asked, 64, "N2I-E110", [/rehearsal's own/]);
    assert.ok(err.replaceAll(/\s+/g, "").includes(`Give--run${run}`), `${asked} ${err}`);
  };
  for (const command of [
    ["rollback", "--all", "--plan", ...writer],
    ["apply", ...writer, "--yes"],
    ["verify", ...writer],
    ["status"],
    ["next"],
    ["report"],
    ["window", "open"],
    ["rehearse", ...words.slice(-2)],
  ])
    await isRefused(...command);
  // An earlier version left no mark.
  rmSync(join(inner, "inner-run"));
  await isRefused("rollback", "--all", ...writer, "--yes");
  assert.equal(await dump(), before);
  await runs(0, ["support", "--run", inner, "--to", join(made.folder, "inner.tar.gz"), "-q"]);
});

test("a journal of what is no copy's is not removed with the folder of the last rehearsal", async (t) => {
  const { words, run, entries, isCopied } = await rehearsing("sqlite", t);
  await runs(0, [...words, "--yes", "-q"]);
  const journal = await openJournal({ path: join(run, "rehearsal") });
  const last = journal.entries().find((entry) => entry.do === "target");
  assert.ok(last !== undefined);
  await journal.append(last);
  await journal.close();
  const count = entries().length;
  await refused([...words, "--yes", "-q"], 4, "N2I-E352", [/cp -rL/]);
  assert.deepEqual([entries().length, await isCopied()], [count, false]);
});

test("an earlier version's rehearsal that worked is not removed, as others could work on it too", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { words, run, entries } = made;
  await runs(0, [...words, "--yes", "-q"]);
  rmSync(join(run, "rehearsal", "inner-run"));
  const count = entries().length;
  const fix = [/may have the only journal/, /cp -rL/];
  const { err } = await refused([...words, "--yes", "-q"], 4, "N2I-E352", fix);
  assert.equal(entries().length, count);
  const [, copy = "", remove = ""] =
    /Run: (cp .*?); take .*?; then (rm -r \S+)\./.exec(err.replaceAll(/\s+/g, " ")) ?? [];
  for (const command of [copy, remove]) execSync(command);
  await runs(0, ["status", "--run", `${run}-loaded`]);
  await runs(0, [...words, "--yes", "-q"]);
  assert.equal(made.found().held, true);
});

test("a journal that cannot be read keeps nobody from retiring, and is noted", async (t) => {
  const run = await tempRun(t);
  const inner = join(run.path, "rehearsal");
  mkdirSync(inner);
  writeFileSync(join(inner, "journal.jsonl"), "{}\n");
  const notes: string[] = [];
  await tellCopies(run, {}, { note: (text) => void notes.push(text) });
  assert.match(notes.join(), /^Whether a rehearsal left a copy cannot be known: N2I-E113 /);
});
