import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { searchFiles } from "../hostile/canaries.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { deploySecrets } from "../hostile/secrets-case.ts";
import { restored } from "../window/rehearse/scene.ts";

test("a report in any form tells what was run and how long it took, and keeps no secret", async (t) => {
  const made = await deploySecrets("sqlite", t);
  const { at, source, reader, writer, plan, folder, find } = made;
  for (const words of [
    ["extract", ...at, ...source],
    ["plan", ...at, ...reader, ...plan],
    ["apply", ...at, ...writer, "--yes", "--skip-blocked"],
  ])
    await made.tried(words);
  const words = ["report", ...at, "--format", "md", "--all", "--window", "23:00-02:00"];
  const md = await made.silently(0, words);
  assert.match(md.out, /\| 12\. extract \| .* \| 23:\d\d \| .* \| 01:5\d \| measured 20\d\d-/);
  assert.match(md.out, /\| 14\. apply \| .* \| \d+ rows at [\d.]+ a second, as before/);
  mkdirSync(join(folder, "out"));
  const file = join(folder, "out", "change.md");
  for (const words of [["--format", "md", "-o", file], []])
    await made.silently(0, ["report", ...at, ...words]);
  assert.deepEqual(searchFiles(find, [join(folder, "out"), unpacked(made.run, folder)]), []);
  assert.equal(statSync(join(made.run, "report.html")).mode & 0o777, 0o600);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

function unpacked(run: string, folder: string): string {
  const page = readFileSync(join(run, "report.html"), "utf8");
  // Some are in the page itself, with what the snapshot alone says of them.
  assert.match(page, /<td class="number">1<\/td>.*<bdi>[^<]*\d+\.\d+\.\d+\.\d+<\/bdi>/);
  const islands = [...page.matchAll(/<script type="text\/plain" [^>]+>([^<]+)</g)];
  assert.ok(islands.length >= 3);
  const texts = islands.map(([, packed = ""]) => gunzipSync(Buffer.from(packed, "base64")));
  const at = join(folder, "unpacked");
  mkdirSync(at);
  writeFileSync(join(at, "data.json"), Buffer.concat(texts));
  return at;
}

test("a report writes over another report, and over nothing else", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, reader, plan, folder } = made;
  const report = ["report", ...at, "--format", "md", "--all", "-o"];
  assertRefusal(await run([...report, join(folder, "x.md")]), 64, "N2I-E110");
  await runs(0, ["extract", ...at, ...source, "-q"]);
  assertRefusal(await run([...report, join(folder, "x.md")]), 64, "N2I-E110", /plan/);
  assertRefusal(await run([...report, "x.md", "--window", "2-5"]), 64, "N2I-E100", /FROM-TO/);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  const file = join(folder, "x.md");
  assert.equal(existsSync(file), false);
  await runs(0, [...report, file]);
  assert.match(readFileSync(file, "utf8"), /\| 3 min \| .* 8 machines every 180 s, by Iron/);
  const conf = join(folder, "ironic.conf");
  writeFileSync(conf, "[conductor]\nsync_local_state_interval = 9\n");
  writeFileSync(join(made.run, "connections.yaml"), `ironic_conf: ${conf}\n`, { flag: "a" });
  await runs(0, [...report, file]);
  assert.match(readFileSync(file, "utf8"), /\| 9 s \| .* 8 machines every 9 s, by \S+ironic\.conf/);
  const check = ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0", "--all-rows"];
  assert.match((await run(check)).out, /Takeover of 1 machine in use: 9 s, 8 machines every 9 s/);
  // Its own page stands in the run, and no other command may write there meanwhile.
  await runs(0, ["report", ...at]);
  await runs(0, ["report", ...at]);
  const mine = join(folder, "mine.md");
  writeFileSync(mine, "mine");
  assertRefusal(await run([...report, mine]), 64, "N2I-E100", /is not a report/);
  assert.equal(readFileSync(mine, "utf8"), "mine");
  assertRefusal(await run([...report, join(folder, "no", "where.md")]), 1, "N2I-E120");
  const left = readdirSync(folder).filter((name) => name.includes("n2i-tmp"));
  assert.deepEqual(left, []);
});

test("the archive for a bug report has what the tool wrote, and no secret of the deployment", async (t) => {
  const made = await deploySecrets("sqlite", t);
  const { at, source, reader, writer, plan, folder } = made;
  const { url: copy } = await restored(t, made, made.ironic);
  for (const words of [
    ["extract", ...at, ...source],
    ["plan", ...at, ...reader, ...plan],
    ["rehearse", ...at, "--ironic-db", copy, "--yes", "--skip-blocked", "--debug"],
    ["apply", ...at, ...writer, "--yes", "--skip-blocked", "--debug"],
    ["rollback", ...at, ...writer, "--all", "--yes"],
  ])
    await made.tried(words);
  writeFileSync(join(made.run, "my passwords.txt"), "hunter2");
  symlinkSync("/etc/hostname", join(made.run, "snapshot.jsonl.old"));
  mkdirSync(join(folder, "elsewhere"));
  writeFileSync(join(folder, "elsewhere", "journal.jsonl"), "another's");
  symlinkSync(join(folder, "elsewhere"), join(made.run, "everything"));
  const archive = join(folder, "report.tar.gz");
  const ran = await made.silently(0, ["support", ...at, "--to", archive]);
  assert.match(ran.err, /Left out: secret\.key: it opens the run's secrets\./);
  assert.match(ran.err, /Left out: my passwords\.txt: this tool did not write it\./);
  assert.match(ran.err, /Left out: snapshot\.jsonl\.old: it is not a regular file\./);
  assert.match(ran.err, /Left out: everything: it is not a regular file\./);
  assert.doesNotMatch(ran.err, /Left out: plan|everything\/|elsewhere/);
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  execFileSync("tar", ["-xzf", archive, "-C", unpacked]);
  assert.deepEqual(searchFiles(made.find, [unpacked]), []);
  const names = readdirSync(unpacked, { recursive: true, encoding: "utf8" });
  for (const wanted of [
    "plan",
    "snapshot.jsonl",
    "journal.jsonl",
    "log.jsonl",
    "planned.json",
    "rehearsal/journal.jsonl",
  ])
    assert.ok(names.includes(wanted), wanted);
  assert.ok(names.some((name) => /^plan-[0-9a-f]{12}\/plan\.json$/.test(name)));
  for (const name of names.filter((one) => /^(?!log).*\.jsonl$/.test(one)))
    assert.deepEqual(readFileSync(join(unpacked, name)), readFileSync(join(made.run, name)), name);
  // The log of what was typed names the tool that runs here.
  assert.match(readFileSync(join(unpacked, "log.jsonl"), "utf8"), /Node v\d+/);
});

test("an archive that is there is not written over, and a run that is none makes none", async (t) => {
  const made = await deployFiles(t, SMALL);
  const archive = join(made.folder, "report.tar.gz");
  const words = ["support", ...made.at, "--to", archive];
  assertRefusal(await run(words), 64, "N2I-E110");
  assert.equal(existsSync(archive), false);
  await runs(0, ["extract", ...made.at, ...made.source]);
  writeFileSync(archive, "mine");
  assertRefusal(await run(words), 64, "N2I-E100", /already exists/);
  assert.equal(readFileSync(archive, "utf8"), "mine");
  const away = ["support", ...made.at, "--to", join(made.folder, "no", "where.tar.gz")];
  assertRefusal(await run(away), 1, "N2I-E120");
  assert.deepEqual(
    readdirSync(made.folder).filter((name) => name.includes("n2i-tmp")),
    [],
  );
});
