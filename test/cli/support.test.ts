import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { searchFiles } from "../hostile/canaries.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { deploySecrets } from "../hostile/secrets-case.ts";
import { restored } from "../window/rehearse/scene.ts";

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
  assert.match(ran.err, /Left out: snapshot\.jsonl\.old: it is no regular file\./);
  assert.match(ran.err, /Left out: everything: it is no regular file\./);
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
  assertRefusal(await run(words), 64, "N2I-E100", /is there already/);
  assert.equal(readFileSync(archive, "utf8"), "mine");
  const away = ["support", ...made.at, "--to", join(made.folder, "no", "where.tar.gz")];
  assertRefusal(await run(away), 1, "N2I-E120");
  assert.deepEqual(
    readdirSync(made.folder).filter((name) => name.includes("n2i-tmp")),
    [],
  );
});
