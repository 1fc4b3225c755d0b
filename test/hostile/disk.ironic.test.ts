import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { smallDisk } from "../support/small-disk.ts";
import { assertRefusal, refused, run, runs, start } from "./cli.ts";
import { deployFiles, privateFolder } from "./deployment.ts";
import { digest, treeOf } from "./digest.ts";
import { SITE, SMALL, tenant } from "./fleet.ts";

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
  await refused(extract, 1, "N2I-E120", [/ENOSPC/, /Free space/]);
  await refused(plan, 1, "N2I-E120", [/ENOSPC/]);
  assert.deepEqual(treeOf(join(disk, "run")), before);
  rmSync(filler);
  await runs(0, plan);
});

test("a disk that fills up before the journal's first entry stops the load before it begins", async (t) => {
  const disk = smallDisk(t, "size=2048k");
  const made = await deployFiles(t, MANY);
  const at = ["--run", join(disk, "run")];
  await runs(0, ["extract", ...at, ...made.source, "-q"]);
  await runs(0, ["plan", ...at, ...made.reader, ...made.plan, "-q"]);
  const before = await digest(made.ironic);
  const filler = join(disk, "filler");
  spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]);
  const apply = ["apply", ...at, ...made.writer, "--yes", "-q"];
  await refused(apply, 1, "N2I-E120", [/ENOSPC/]);
  assert.equal(await digest(made.ironic), before);
  const files = treeOf(join(disk, "run"));
  // Room for a lock, and not for a page.
  spawnSync("truncate", ["--size=-12K", filler]);
  await refused(["report", ...at, "-q"], 1, "N2I-E120", [/report\.html.*ENOSPC/]);
  assert.deepEqual(treeOf(join(disk, "run")), files);
  rmSync(filler);
  await runs(0, apply);
  await runs(0, ["status", ...at]);
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
    [0, 1, /^ERROR N2I-E120 .*ENOSPC[\s\S]*^Fix: Free space/m],
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

test("a run folder that is open, a file, missing, or another user's is refused with the command that fixes it", async (t) => {
  const made = await deployFiles(t, SMALL);
  const extract = ["extract", ...made.at, ...made.source, "-q"];
  await runs(0, extract);
  const before = treeOf(made.run);
  chmodSync(made.run, 0o755);
  await refused(extract, 64, "N2I-E110", [/mode 755/, /chmod 700/]);
  chmodSync(made.run, 0o700);
  chownSync(made.run, 65_534, 65_534);
  await refused(extract, 64, "N2I-E110", [/belongs to another user/, /chown -R 0/]);
  chownSync(made.run, 0, 0);
  assert.deepEqual(treeOf(made.run), before);
  const file = join(made.folder, "file");
  writeFileSync(file, "");
  await refused(["extract", "--run", file, ...made.source, "-q"], 64, "N2I-E110", [/not a folder/]);
  for (const command of ["status", "plan", "apply", "verify"])
    await refused(
      [command, "--run", join(made.folder, "none"), ...(command === "status" ? [] : made.reader)],
      64,
      "N2I-E110",
      [/does not exist/],
    );
  const dangling = join(made.folder, "dangling");
  symlinkSync("/none/where", dangling);
  const ran = await run(["extract", "--run", dangling, ...made.source, "-q"]);
  assert.ok([1, 64].includes(ran.status), ran.err);
  assert.equal(existsSync("/none"), false);
});

test("a folder that may not be written, as another user than root, is refused", async (t) => {
  const made = await deployFiles(t, SMALL);
  const folder = privateFolder(t);
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "closed"), { mode: 0o755 });
  const words = ["extract", "--run", join(folder, "closed", "run"), ...made.source, "-q"];
  const ran = await run(words, { uid: 65_534 });
  assertRefusal(ran, 1, "N2I-E120", /EACCES/);
});
