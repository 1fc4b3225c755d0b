import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { searchFiles } from "../hostile/canaries.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { deployFiles, extractAndPlan, privateFolder } from "../hostile/deployment.ts";
import { SITE, SMALL } from "../hostile/fleet.ts";
import { deploySecrets } from "../hostile/secrets-case.ts";
import { runHere } from "../support/in-process.ts";
import { listening } from "../support/listening.ts";
import { restored } from "../window/rehearse/scene.ts";

async function nextOf(at: readonly string[]): Promise<string> {
  return (await runs(0, ["status", ...at])).err;
}

test("a plan in which nothing can be loaded names what to do, and not apply", async (t) => {
  const skipped = { ...SITE, machines: [{ match: {}, skip: "none of them is to move" }] };
  const made = await deployFiles(t, { ...SMALL, site: skipped });
  const { at, source, reader, plan } = made;
  await runs(0, ["extract", ...at, ...source]);
  assert.match(await nextOf(at), /^Next: nova2ironic power /m);
  const { out, err } = await runs(0, ["plan", ...at, ...reader, ...plan]);
  assert.match(out, /\n\nOf skipped machines:\n {2}N2I-D604 blocks +2 /);
  assert.match(
    err,
    /^The plan loads none of its \d+ machines: .*\nFix .*\nNext: nova2ironic power /m,
  );
  assert.match(await nextOf(at), /^Next: nova2ironic power .*loads none of its/m);
  await run(["power", ...at]);
  assert.match(await nextOf(at), /^Next: nova2ironic plan .*loads none of its/m);
  await runs(0, ["plan", ...at, ...reader, ...plan]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic show \S+plan --skipped {2}# .*loads none of its/m,
  );
  appendFileSync(join(made.folder, "site.json"), "\n");
  assert.match(await nextOf(at), /^Next: nova2ironic plan .*loads none of its/m);
});

test("a plan with blocked machines names what goes on, each a line of its own", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, reader, plan } = made;
  const [node] = await made.bm.db("bm_nodes").orderBy("id").select("id");
  await made.bm.db("bm_nodes").where(node).update({ task_state: "building" });
  await runs(0, ["extract", ...at, ...source]);
  const { err } = await runs(0, ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan]);
  assert.match(
    err,
    /^1 machine is blocked and 0 in conflict: apply refuses the plan \(N2I-E304\)\.$/m,
  );
  assert.match(
    err,
    /^Next: nova2ironic power --run \S+\nthen: nova2ironic plan .*\nor: nova2ironic apply --run \S+ --skip-blocked$/m,
  );
  const told = /or apply with --skip-blocked$/m;
  assert.match(await nextOf(at), new RegExp(`^Next: nova2ironic power .*${told.source}`, "m"));
  assert.match((await runs(0, ["next", ...at])).out, /nova2ironic power --run/);
});

test("after a verify that finds nothing, status goes on; what is done then makes it void", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at } = made;
  await extractAndPlan(made);
  await runs(0, ["apply", ...at, "--yes", "--leave-nova"]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic verify --run \S+ {2}# if it finds no difference: /m,
  );
  await runs(0, ["verify", ...at]);
  assert.match(await nextOf(at), /^Next: nova2ironic verify --run \S+ --takeover {2}# once/m);
  await made.ironic.db("nodes").update({ driver: "fake" });
  await runs(2, ["verify", ...at]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic verify --run \S+ {2}# if it finds no difference: /m,
  );
});

test("a run.json that is foreign or damaged leaves the short help, and a line about it", async (t) => {
  for (const content of ["{}", "x"]) {
    const folder = privateFolder(t);
    writeFileSync(join(folder, "run.json"), content);
    const ran = await runHere([], {}, { cwd: () => folder });
    assert.equal(ran.status, 0, ran.err);
    assert.match(ran.out, /^Try it +nova2ironic demo$/m);
    assert.match(
      ran.err,
      /^Ignored: \S+run\.json is not .* \(N2I-E113\)\. If .*status --run \. .*\n$/,
    );
  }
});

interface Line {
  readonly type: string;
  readonly command?: string;
  readonly text?: string;
  readonly code?: string;
  readonly status?: number;
}

function linesOf(folder: string): readonly Line[] {
  const text = readFileSync(join(folder, "log.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

test("the log of a run has each command with its output, its refusal and its exit status", async (t) => {
  const made = await deployFiles(t, SMALL);
  await extractAndPlan(made);
  await run(["rollback", ...made.at, ...made.writer, "--leave-nova"]);
  const lines = linesOf(made.run);
  const commands = lines.flatMap(({ command }) => (command === undefined ? [] : [command]));
  assert.deepEqual(
    commands.map((command) => command.split(" ").slice(0, 2).join(" ")),
    ["nova2ironic extract", "nova2ironic plan", "nova2ironic rollback"],
  );
  assert.ok(commands[0]?.includes(`--run ${made.run} --nova-bm-db file:`));
  assert.deepEqual(
    lines.flatMap(({ status }) => (status === undefined ? [] : [status])),
    [0, 0, 64],
  );
  // What --quiet keeps off the screen is kept here.
  assert.ok(lines.some(({ text }) => text?.includes("Next: nova2ironic ")));
  assert.deepEqual(
    lines.flatMap(({ code }) => (code === undefined ? [] : [code])),
    ["N2I-E305"],
  );
  assert.equal(statSync(join(made.run, "log.jsonl")).mode & 0o777, 0o600);
});

test("a password in an address that lacks its beginning is not written down", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source]);
  await run(["extract", ...made.at, "--nova-bm-db", "nova:s3cr3t@db1/nova_bm"]);
  const file = join(made.folder, "nova2ironic.yaml");
  writeFileSync(file, "nova_bm_db: 'nova:a/s3cr3t:@x@db2/nova_bm'\n", { mode: 0o600 });
  await run(["extract", ...made.at, "--config", file]);
  const text = readFileSync(join(made.run, "log.jsonl"), "utf8");
  assert.match(text, /nova:\*\*\*@db2/);
  assert.match(text, /nova:\*\*\*@db1/);
  assert.doesNotMatch(text, /s3cr3t/);
});

test("no folder but a run of this user's gets a log", async (t) => {
  const folder = privateFolder(t);
  const made = await deployFiles(t, SMALL);
  for (const [name, mode] of [
    ["not a run", 0o700],
    ["open", 0o755],
  ] as const) {
    const other = join(folder, name);
    mkdirSync(other);
    if (name === "open") writeFileSync(join(other, "snapshot.jsonl"), "");
    chmodSync(other, mode);
    await run(["status", "--run", other]);
    assert.equal(existsSync(join(other, "log.jsonl")), false, name);
  }
  await runs(0, ["extract", ...made.at, ...made.source]);
  const mine = join(folder, "mine");
  writeFileSync(mine, "mine");
  const linked = join(folder, "linked");
  mkdirSync(linked, { mode: 0o700 });
  writeFileSync(join(linked, "snapshot.jsonl"), "");
  symlinkSync(mine, join(linked, "log.jsonl"));
  await run(["status", "--run", linked]);
  assert.equal(readFileSync(mine, "utf8"), "mine");
});

test("a log that cannot be written stops nothing", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source]);
  const log = join(made.run, "log.jsonl");
  // A folder where the file should be: no user, not even root, can write to it.
  rmSync(log);
  mkdirSync(log);
  await runs(0, ["status", ...made.at]);
});

test("while a service does not answer the login, the command names it", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  // What is silent for two seconds is said at once.
  const { setTimeout: later } = globalThis;
  t.mock.method(globalThis, "setTimeout", ((work: () => void, ms: number) =>
    later(work, ms === 2000 ? 0 : ms)) as typeof setTimeout);
  const SAID = /^Still logging in and reading the version of Ironic: 0 s so far\.$/m;
  let said = (): void => undefined;
  const heard = new Promise<void>((resolve) => {
    said = resolve;
  });
  const url = await listening(
    t,
    createServer((_, answer) => void heard.then(() => answer.writeHead(503).end())),
  );
  const words = ["plan", ...made.at, "--ironic-url", url];
  const { status, err } = await runHere(
    words,
    { OS_AUTH_TYPE: "none" },
    { heard: (text) => SAID.test(text) && said() },
  );
  assert.match(err, SAID);
  assert.equal(status, 1, err);
});

test("a report in any format lists the commands and their durations, and has no secret", async (t) => {
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
  // The report is written to the run, so no other command may write there at the same time.
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
  // The log has the version of Node that runs this program.
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
