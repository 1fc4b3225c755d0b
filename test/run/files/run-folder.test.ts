import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { lockRun, openRun } from "../../../src/run/files/run-folder.ts";
import { isRun, kindOf } from "../../../src/run/files/run-kind.ts";
import { edit, refuses, started, tempRun, writePlan } from "./temp-run.ts";

test("a new run is a private folder, its parents made with it", async (t) => {
  const { path } = await tempRun(t);
  const run = await openRun(join(path, "runs", "m1"), { create: true });
  assert.equal((await stat(run.path)).mode & 0o777, 0o700);
  assert.equal((await stat(join(path, "runs"))).mode & 0o777, 0o700);
  assert.deepEqual(await openRun(run.path, { create: true }), run);
});

test("a missing run is refused where nothing is to be made", async (t) => {
  const path = join((await tempRun(t)).path, "none");
  await assert.rejects(openRun(path, { create: false }), refuses("N2I-E110", "does not exist"));
});

test("a folder others may enter is refused with the chmod that fixes it", async (t) => {
  const { path } = await tempRun(t);
  for (const mode of [0o750, 0o705, 0o777]) {
    await chmod(path, mode);
    const fix = `chmod 700 '${path}'`;
    await assert.rejects(openRun(path, { create: true }), refuses("N2I-E110", fix));
  }
});

test("a file where the folder should be is refused, and so is one on the way", async (t) => {
  const { path } = await tempRun(t);
  const file = join(path, "file");
  await writeFile(file, "");
  for (const create of [true, false]) {
    await assert.rejects(openRun(file, { create }), refuses("N2I-E110"));
    await assert.rejects(openRun(join(file, "below"), { create }), refuses("N2I-E110"));
  }
});

test("one stage at a time: the second is told who holds the run", async (t) => {
  const run = await tempRun(t);
  const release = await lockRun(run, "apply");
  const told = refuses("N2I-E302", `apply (process ${process.pid} on `);
  await assert.rejects(lockRun(run, "plan"), told);
  await release();
  await (await lockRun(run, "plan"))();
  assert.deepEqual(await readdir(run.path), []);
});

test("a lock dies with its holder, killed or not", async (t) => {
  const run = await tempRun(t);
  const child = await started("hold-lock", run);
  await assert.rejects(lockRun(run, "plan"), refuses("N2I-E302", `process ${child.pid} `));
  await child.kill9();
  await (await lockRun(run, "plan"))();
  assert.deepEqual(await readdir(run.path), []);
});

test("of many that find a dead holder at once, one replaces it", async (t) => {
  const run = await tempRun(t);
  for (let round = 0; round < 10; round++) {
    const release = await lockRun(run, "apply");
    await edit(join(run.path, "run.lock"), (text) =>
      text.replace(/"began":"[^"]*"/, '"began":"1"'),
    );
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => lockRun(run, "plan")));
    const taken = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    assert.equal(taken.length, 1);
    for (const each of all) if (each.status === "rejected") refuses("N2I-E302")(each.reason);
    // What the first holder leaves to the exit of its process goes with it.
    for (const each of [release, ...taken]) await each();
  }
  assert.deepEqual(await readdir(run.path), []);
});

test("one who died while replacing a dead holder is replaced too", async (t) => {
  const run = await tempRun(t);
  t.after(await lockRun(run, "apply"));
  const path = join(run.path, "run.lock");
  await edit(path, (text) => text.replace(/"began":"[^"]*"/, '"began":"1"'));
  const holder: unknown = JSON.parse(await readFile(path, "utf8"));
  assert(typeof holder === "object" && holder !== null && "token" in holder);
  const claim = { ...holder, token: "00ff" };
  await writeFile(`${path}.${String(holder.token)}`, JSON.stringify(claim));
  await (await lockRun(run, "plan"))();
  assert.deepEqual(await readdir(run.path), []);
});

test("a holder on another host, or in another container, is left alone", async (t) => {
  const run = await tempRun(t);
  t.after(await lockRun(run, "apply"));
  const path = join(run.path, "run.lock");
  const mine = await readFile(path, "utf8");
  await writeFile(path, mine.replace(/"host":"[^"]*"/, '"host":"compute-9"'));
  await assert.rejects(lockRun(run, "plan"), refuses("N2I-E302", `rm '${path}'`));
  const elsewhere = mine
    .replace(/("realm":"[^ ]*) [^"]*/, "$1 pid:[1]")
    .replace(/"began":"[^"]*"/, '"began":"1"');
  await writeFile(path, elsewhere);
  await assert.rejects(lockRun(run, "plan"), refuses("N2I-E302"));
  await writeFile(path, mine.replace(/"realm":"[^ "]* /, '"realm":"an-earlier-boot '));
  await (await lockRun(run, "plan"))();
});

test("a lock file that is none of ours is refused and stays", async (t) => {
  const run = await tempRun(t);
  for (const text of ["", "123", "\0\0", '{"pid":1}']) {
    await writeFile(join(run.path, "run.lock"), text);
    await assert.rejects(lockRun(run, "plan"), refuses("N2I-E302", "not a lock of nova2ironic"));
    assert.equal(await readFile(join(run.path, "run.lock"), "utf8"), text);
  }
});

test("a stage that is killed while it writes leaves the old file, and the next one removes the rest", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }]);
  const old = await readFile(path);
  const child = await started("write-on", run);
  await child.kill9();
  await writeFile(join(run.path, "notes.tmp"), "the operator's");
  await (await lockRun(run, "plan"))();
  assert.deepEqual((await readdir(run.path)).toSorted(), ["machines.jsonl", "notes.tmp"]);
  assert.deepEqual(await readFile(path), old);
});

test("a link to a run is as good as the run", async (t) => {
  const { path } = await tempRun(t);
  await mkdir(join(path, "m1"), { mode: 0o700 });
  await symlink("m1", join(path, "current"));
  await openRun(join(path, "current"), { create: true });
});

test("a link to a folder that does not exist is refused, and the folder is not made", async (t) => {
  const { path } = await tempRun(t);
  await symlink("none/where", join(path, "dangling"));
  await assert.rejects(openRun(join(path, "dangling"), { create: true }));
  assert.deepEqual(await readdir(path), ["dangling"]);
});

test("a folder with a hook alone is not a run, and a lost run.json is put back by what the journal has", async (t) => {
  const run = await tempRun(t);
  await mkdir(join(run.path, "hooks"));
  assert.equal(await isRun(run), false);
  await assert.rejects(kindOf(run), /is not a run: it has no run\.json/);
  const kinds = {
    '"part":"ironic"': '"kind":"migration"',
    '"part":"host-machines"': '"kind":"takeover","variant":"baremetal"',
    '"part":"host-fence"': '"kind":"takeover","variant":"ironic"',
    '"system":"manage"': '"kind":"manage"',
    '"system":"switchover"': '"kind":"switchover"',
  };
  for (const [sign, content] of Object.entries(kinds)) {
    await writeFile(join(run.path, "journal.jsonl"), `{"do":"open"}\n{${sign}}\n`);
    const error = await kindOf(run).catch((cause: unknown) => cause);
    assert.ok(error instanceof MigrationError && error.fix.includes(content), String(error));
    assert.equal(await isRun(run), true);
  }
});
