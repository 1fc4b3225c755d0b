import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { copyFolder } from "../support/copy-folder.ts";
import { smallDisk } from "../support/small-disk.ts";
import { assertRefusal, MAIN, quoted, refused, run, runs, start, startProgram } from "./cli.ts";
import { type Deployment, deployFiles, plannedFiles, privateFolder } from "./deployment.ts";
import { digest, digests, treeOf } from "./digest.ts";
import { SITE, SMALL, tenant } from "./fleet.ts";
import { plannedWhole, writing } from "./whole.ts";

const MANY = {
  ...SMALL,
  nova_bm: { nodes: Array.from({ length: 120 }, (_, at) => tenant(at + 1)) },
  site: SITE,
};

test("on a full disk extract and plan are refused, keep what was there, and work once there is room", async (t) => {
  const disk = smallDisk(t, "size=640k");
  const made = await deployFiles(t, MANY);
  const at = ["--run", join(disk, "run")];
  const extract = ["extract", ...at, ...made.source, "-q"];
  const plan = ["plan", ...at, ...made.reader, ...made.plan, "-q"];
  await runs(0, extract);
  const filler = join(disk, "filler");
  spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]);
  const before = treeOf(join(disk, "run"));
  await refused(extract, 1, "N2I-E120", [/ENOSPC/, /Free up space/]);
  await refused(plan, 1, "N2I-E120", [/ENOSPC/]);
  assert.deepEqual(treeOf(join(disk, "run")), before);
  rmSync(filler);
  await runs(0, plan);
});

test("a run that meets a full disk ends with what to do before anything is written", async (t) => {
  const disk = smallDisk(t, "size=2048k");
  const root = { match: {}, set: { root_uuid: "c0000000-0000-4000-8000-000000000001" } };
  const made = await deployFiles(t, {
    ...MANY,
    site: { ...SITE, machines: [...SITE.machines, root] },
  });
  const at = ["--run", join(disk, "run")];
  await runs(0, ["extract", ...at, ...made.source, "-q"]);
  await runs(0, ["plan", ...at, ...made.writer, ...made.source.slice(2, 4), ...made.plan, "-q"]);
  const before = await digest(made.ironic);
  const filler = join(disk, "filler");
  const night = ["run", ...at, "--yes", "--watch", "0", "--wait", "0"];
  // Nothing at all; and so much that the check sees that it is too little.
  for (const [room, status, what] of [
    [0, 1, /^ERROR N2I-E120 .*ENOSPC[\s\S]*^Fix: Free up space/m],
    [8, 2, /^\| Check: .*Disk space of the run[\s\S]*^\| Result: Failure/m],
  ] as const) {
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]);
    spawnSync("truncate", [`--size=-${room}K`, filler]);
    const full = await run(night);
    assert.match(full.err, /^The run stops .* nova2ironic run --run '.*' --watch 0/m);
    assert.match(`${full.out}${full.err}`, what);
    assert.equal(full.status, status, full.err);
    assert.equal(await digest(made.ironic), before);
    rmSync(filler);
  }
});

test("a journal that cannot be written after the commit is told as halfway, and the next apply settles it", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  await runs(0, ["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
  const apply = ["apply", ...made.at, ...made.writer, "--yes", "-q"];
  const paused = start(apply, { env: { NOVA2IRONIC_FAILPOINT: "commit.after:1:pause" } });
  await paused.said("failpoint commit.after");
  const { size } = statSync(join(made.run, "journal.jsonl"));
  const limit = [`--pid=${paused.pid}`, `--fsize=${size}`];
  assert.equal(spawnSync("prlimit", limit).status, 0);
  paused.signal("SIGUSR2");
  const ran = await paused.ended;
  assert.equal(ran.status, 5, ran.err);
  assert.match(ran.err, /^ERROR N2I-E301 apply stopped .*N2I-E120 .*journal.jsonl.*EFBIG/m);
  const loaded = await digest(made.ironic);
  assert.match((await runs(0, ["status", ...made.at])).out, /begun|settle|interrupted|halfway/i);
  await runs(0, apply);
  assert.equal(await digest(made.ironic), loaded);
  await runs(0, ["verify", ...made.at, ...made.reader, "-q"]);
  await runs(0, ["rollback", ...made.at, ...made.writer, "--all", "--yes", "-q"]);
});

test("a read-only disk is refused by every command that writes, and read by those that read", async (t) => {
  const disk = smallDisk(t, "size=2048k");
  const made = await deployFiles(t, SMALL);
  const at = ["--run", join(disk, "run")];
  await runs(0, ["extract", ...at, ...made.source, "-q"]);
  await runs(0, ["plan", ...at, ...made.reader, ...made.plan, "-q"]);
  assert.equal(spawnSync("mount", ["-o", "remount,ro", disk]).status, 0);
  const before = await digest(made.ironic);
  for (const words of [
    ["extract", ...at, ...made.source],
    ["plan", ...at, ...made.reader, ...made.plan],
    ["apply", ...at, ...made.writer, "--yes"],
    ["rollback", ...at, ...made.writer, "--all", "--yes"],
    ["report", ...at],
    ["extract", "--run", join(disk, "new"), ...made.source],
  ])
    await refused([...words, "-q"], 1, "N2I-E120", [/EROFS/]);
  assert.equal(await digest(made.ironic), before);
  await runs(0, ["show", join(disk, "run", "plan")]);
  await runs(0, ["report", ...at, "--format", "md"]);
  await runs(0, ["status", ...at]);
  await runs(2, ["verify", ...at, ...made.reader, "-q"]);
});

test("on a full disk boot, release and Nova's part of apply begin nothing, and work once there is room", async (t) => {
  const disk = smallDisk(t, "size=2048k");
  const made = await plannedWhole("sqlite", t);
  const at = join(disk, "run");
  copyFolder(made.run, at);
  const { boot = [], release = [], apply = [], rollback = [] } = writing(made, at);
  const check = made.check.toSpliced(1, 2, "--run", at);
  const filler = join(disk, "filler");
  const fill = (): void => void spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]);
  const before = [await digests(made), made.trees()];
  fill();
  const full = treeOf(at);
  for (const words of [boot, apply]) await refused(words, 1, "N2I-E120", [/ENOSPC/]);
  assert.match((await run(check)).out, /Check: .*[Dd]isk|space/);
  // Room for a lock, and not for a page.
  spawnSync("truncate", ["--size=-12K", filler]);
  await refused(["report", "--run", at, "-q"], 1, "N2I-E120", [/report\.html.*ENOSPC/]);
  assert.deepEqual(treeOf(at), full);
  assert.deepEqual([await digests(made), made.trees()], before);
  rmSync(filler);
  await runs(0, apply);
  await runs(0, boot);
  const loaded = await digests(made);
  fill();
  const finish = ["finish", "--run", at, ...made.writer, "--yes", "-q"];
  for (const words of [release, finish]) await refused(words, 1, "N2I-E120", [/ENOSPC/]);
  assert.deepEqual(await digests(made), loaded);
  rmSync(filler);
  await runs(3, release);
  await runs(0, [...boot, "--undo"]);
  await runs(0, rollback);
  assert.deepEqual([await digests(made), made.trees()], before);
});

test("a deleted working directory is one error with a next step", (t) => {
  for (const words of [[], ["status", "--run", "m1"], ["explain", "N2I-E110"]]) {
    const script = 'cd "$1" && rmdir "$1" && shift && exec "$@"';
    const argv = ["-c", script, "sh", privateFolder(t), process.execPath, MAIN, ...words];
    const { status, stdout, stderr } = spawnSync("/bin/sh", argv, { encoding: "utf8" });
    const ran = { status: status ?? -1, out: stdout, err: stderr };
    const text = [/working directory does not exist/, /^Fix: Change to a folder/m];
    assertRefusal(ran, 64, "N2I-E110", ...text);
  }
});

const planned = (t: TestContext): Promise<Deployment> =>
  plannedFiles(t, { ...SMALL, nova_bm: { nodes: [tenant(1), tenant(2)] } });

test("a result that could not be written is no success", async (t) => {
  const made = await planned(t);
  const plan = quoted([process.execPath, MAIN, "plan", ...made.at, ...made.reader, ...made.plan]);
  const full = await startProgram("bash", ["--norc", "-c", `${plan} > /dev/full`]).ended;
  assert.notEqual(full.status, 0);
  assert.doesNotMatch(full.err, /^\s+at /m);
});

/** A terminal that goes away when it has shown some text; exits as its child did. */
const LOST = `
import os, pty, sys
child, ours = pty.fork()
if child == 0: os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while sys.argv[1].encode() not in seen: seen += os.read(ours, 4096)
os.close(ours)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
`;

test("a terminal that is lost at a question ends the command, and the log says so", async (t) => {
  const made = await planned(t);
  const before = await digest(made.ironic);
  const apply = [process.execPath, MAIN, "apply", ...made.at, ...made.writer, "--leave-nova"];
  const ran = await startProgram("python3", ["-c", LOST, "to continue:", ...apply]).ended;
  assert.equal(ran.status, 143, ran.err);
  assert.equal(await digest(made.ironic), before);
  endedByLoss(made);
});

test("a terminal that is lost ends the command also if the shell ignores the signal", async (t) => {
  const nodes = Array.from({ length: 1200 }, (_, at) => tenant(at + 1));
  const made = await deployFiles(t, { ...SMALL, nova_bm: { nodes } });
  const keeping = ["sh", "-c", 'trap : HUP; "$@"; exit $?', "sh"];
  const extract = [...keeping, process.execPath, MAIN, "extract", ...made.at, ...made.source];
  const env = { TERM: "xterm" };
  const ran = await startProgram("python3", ["-c", LOST, "extract", ...extract], { env }).ended;
  assert.equal(ran.status, 143, ran.err);
  endedByLoss(made);
});

test("a service ends when its terminal is lost", async () => {
  const where = ["--auth", "none", "--ironic-url", "http://127.0.0.1:1"];
  const serve = [process.execPath, MAIN, "serve", "proxy", "--listen", "127.0.0.1:0", ...where];
  // A service that keeps writing to the lost terminal reaches this limit.
  const limited = ["sh", "-c", 'ulimit -t 10; exec "$@"', "sh", ...serve];
  const ran = await startProgram("python3", ["-c", LOST, "listening on", ...limited]).ended;
  assert.equal(ran.status, 143, ran.err);
});

function endedByLoss({ run: folder }: Deployment): void {
  const log = readFileSync(join(folder, "log.jsonl"), "utf8").trimEnd().split("\n");
  assert.match(log.at(-1) ?? "", /"type":"end","status":143,"name":"SIGHUP"/);
  assert.ok(!existsSync(join(folder, "run.lock")));
}
