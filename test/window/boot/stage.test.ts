import assert from "node:assert/strict";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { writeTree } from "../../cases/write-case.ts";
import { refused, runs } from "../../hostile/cli.ts";
import {
  bootScene,
  ironicConfig,
  KEY,
  linkPath,
  nodeOf,
  rootOf,
  takenOver,
  treeDigest,
} from "../../support/boot.ts";

test("what Juno's takeover left is switched to boot, nothing else of it changes, and its deploy key is told nowhere", async (t) => {
  const at = await bootScene(t, "juno", [1, 2], { ...takenOver(1), ...takenOver(2) });
  const before = at.digest();
  const seen = await at.boot(0, "--plan");
  assert.match(seen.out, /^Plan: 2 to stage\.$/m);
  assert.equal(at.digest(), before, "a plan writes nothing");
  const broken = await at.boot(2, "--verify");
  assert.match(broken.out, new RegExp(`${nodeOf(1)}/config has default deploy`));
  const ran = await at.boot(0, "--yes");
  const kept = ["journal.jsonl", "plan/machines.jsonl", "snapshot.jsonl"].map((name) =>
    readFileSync(join(at.run, name), "utf8"),
  );
  for (const text of [ran.out, ran.err, ...kept]) assert.ok(!text.includes(KEY));
  assert.equal(
    at.read(`${nodeOf(1)}/config`),
    ironicConfig(1, "boot", { chosen: "boot", root: `UUID=${rootOf(1)}` }),
  );
  // D-12
  for (const id of [1, 2])
    assert.equal(readlinkSync(join(at.tree, linkPath(id))), `/tftpboot/${nodeOf(id)}/config`);
  assert.match((await at.boot(0, "--verify")).out, /^Verify: 2 ready\.$/m);
  const staged = at.digest();
  assert.match((await at.boot(0, "--yes")).out, /^Boot: 2 ready\.$/m);
  assert.equal(at.digest(), staged, "a second run changes nothing");
  const status = async () => (await runs(0, ["status", "--run", at.run, "-f", "value"])).out;
  assert.ok((await status()).includes(`2 machines staged in ${at.tree}\n`));
  const loading = ["--run", at.run, ...at.ironic, "--yes", "-q"];
  await runs(0, ["apply", ...loading]);
  const { out } = await runs(0, ["rollback", ...loading, "--all"]);
  assert.match(out, /^Boot files of 2 machines stay in .*\/tree\. To remove them: .* --undo$/m);
  const other = await runs(0, ["boot", "--run", at.run, "--tftp-root", at.old, "--undo", "--yes"]);
  assert.match(other.out, /^Undo: this run has no boot files there\.$/m);
  assert.match(other.err, /^This run also staged boot files in other trees: .*\/tree$/m);
  assert.match((await at.boot(0, "--undo", "--yes")).out, /^Undo: 2 undone\.$/m);
  assert.equal(at.digest(), before);
  assert.match(
    (await at.boot(0, "--undo", "--yes")).out,
    /^Undo: this run has no boot files there\.$/m,
  );
  assert.match(await status(), /no machine is staged/);
});

const LABELS = { juno: "boot", kilo: "boot_partition", "2023.1": "boot_ramdisk" };

for (const [release, label] of Object.entries(LABELS))
  test(`an empty tree gets what ${release} boots a tenant by, with its kernel and ramdisk`, async (t) => {
    const set = release === "2023.1" ? { deploy_interface: "ramdisk" } : {};
    const at = await bootScene(t, release, [1], {}, set);
    const [before, old] = [at.digest(), treeDigest(at.old)];
    await at.boot(0, "--yes");
    const folder = `/tftpboot/${nodeOf(1)}`;
    assert.equal(
      at.read(`${nodeOf(1)}/config`),
      `default ${label}\n\nlabel ${label}\nkernel ${folder}/kernel\n` +
        `append initrd=${folder}/ramdisk root=UUID=${rootOf(1)} ro nofb nomodeset vga=normal\n`,
    );
    assert.equal(at.read(`${nodeOf(1)}/kernel`), "kernel of 1\n");
    assert.equal(readlinkSync(join(at.tree, linkPath(1))), `../${nodeOf(1)}/config`);
    assert.match((await at.boot(0, "--verify")).out, /^Verify: 1 ready\.$/m);
    await at.boot(0, "--undo", "--yes");
    assert.equal(at.digest(), before);
    assert.equal(treeDigest(at.old), old, "the old host's tree is only read");
  });

test("the TFTP server can read what is staged, and it belongs to the tree's owner", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  const root = process.getuid?.() === 0;
  if (root) chownSync(at.tree, 65534, 65534);
  await at.boot(0, "--yes");
  for (const [path, mode] of Object.entries({ "": 0o40755, config: 0o100644, kernel: 0o100644 })) {
    const found = lstatSync(join(at.tree, nodeOf(1), path));
    assert.equal(found.mode, mode, path);
    if (root) assert.deepEqual([found.uid, found.gid], [65534, 65534], path);
  }
});

test("a machine for which somebody else's hand is in the tree is left whole, and told of", async (t) => {
  const other = `6f0ed4a2-2f3a-4b8e-9d58-${"0".repeat(12)}`;
  const at = await bootScene(t, "juno", [1, 2, 3, 4, 5, 6, 7], {
    ...takenOver(1),
    [`${nodeOf(1)}/config`]: ironicConfig(1, "boot", { root: `UUID=${other}` }),
    ...takenOver(2),
    [linkPath(2)]: { link: `/tftpboot/${nodeOf(9)}/config` },
    [linkPath(3)]: "default boot\n",
    ...takenOver(4),
    [`${nodeOf(4)}/config`]: { link: "../../outside" },
    [`${nodeOf(5)}`]: { link: "/etc" },
    ...takenOver(6),
    [`${nodeOf(6)}/config`]: ironicConfig(9, "boot"),
  });
  const before = at.digest();
  writeFileSync(join(at.tree, "..", "outside"), "untouched\n");
  const { out } = await at.boot(3, "--yes");
  assert.match(out, /^Boot: 1 staged, 6 left\.$/m);
  const links = [`leads to /tftpboot/${nodeOf(9)}`, "not a link", "a link to", "a link to /etc"];
  for (const why of [`root=UUID=${other}`, ...links, "boots /tftpboot"])
    assert.ok(out.replaceAll(/[\s|]+/g, " ").includes(why) || out.includes(why), `${why}\n${out}`);
  assert.equal(readFileSync(join(at.tree, "..", "outside"), "utf8"), "untouched\n");
  await at.boot(0, "--undo", "--yes");
  assert.equal(at.digest(), before);
});

test("what somebody changed after it was staged is left by undo, and told of", async (t) => {
  const at = await bootScene(t, "juno", [1, 2], {});
  await at.boot(0, "--yes");
  writeFileSync(join(at.tree, nodeOf(1), "config"), ironicConfig(1, "boot"));
  writeFileSync(join(at.tree, nodeOf(2), "deploy_kernel"), "Ironic's\n");
  const { out } = await at.boot(2, "--undo", "--yes", "-f", "value");
  assert.match(out, new RegExp(`^${nodeOf(1)} left .*config has changed since`, "m"));
  assert.match(out, new RegExp(`^${nodeOf(2)} left .* contains other files`, "m"));
  assert.equal(at.read(`${nodeOf(1)}/config`), ironicConfig(1, "boot"));
  rmSync(join(at.tree, nodeOf(2), "deploy_kernel"));
  await at.boot(2, "--undo", "--yes");
  assert.throws(() => lstatSync(join(at.tree, nodeOf(2))));
});

test("a tree that is none, a run without a plan's word and a missing yes are refused", async (t) => {
  const at = await bootScene(t, "juno", [1], takenOver(1));
  const words = ["boot", "--run", at.run, "-q"];
  await refused([...words, "--tftp-root", join(at.tree, "none"), "--yes"], 64, "N2I-E410");
  await refused([...words, "--tftp-root", at.tree], 4, "N2I-E303");
  await refused([...words, "--tftp-root", at.tree, "--tftp-root", at.old, "--yes"], 64, "N2I-E100");
  await refused([...words, "--tftp-root", at.tree, "--plan", "--undo"], 64, "N2I-E100");
});

test("whether a takeover was before or comes, Juno's boot says to run it after each, and others do not", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  // Once boot has acted, its run knows the tree.
  const again = `boot --run ${at.run}( --tftp-root ${at.tree})? --from ${at.old} --served-as /tftpboot`;
  const notice = new RegExp(
    `^Notice: each takeover by Ironic juno writes these files again.* --takeover .* run nova2ironic ${again}$`,
    "m",
  );
  for (const options of ["--plan", "--yes -q", "--verify -f json"])
    assert.match((await at.boot(0, ...options.split(" "))).err, notice);
  assert.doesNotMatch((await at.boot(0, "--undo", "--yes")).err, /Notice/);
  const kilo = await bootScene(t, "kilo", [1], {});
  assert.doesNotMatch((await kilo.boot(0, "--yes")).err, /Notice/);
});

test("on releases that boot from disk only nothing is staged, and the reason is told", async (t) => {
  const at = await bootScene(t, "2023.1", [1], {});
  const before = at.digest();
  const { out } = await at.boot(3, "--yes", "-f", "value");
  assert.match(out, /left .*keep the old TFTP service/);
  assert.equal(at.digest(), before);
});

test("a folder swapped for a link while staging waits receives nothing", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  const outside = join(at.tree, "..", "outside");
  mkdirSync(outside);
  const under = at.start(["--yes", "-q"], "boot.step:2:pause");
  await under.said("failpoint boot.step");
  rmSync(join(at.tree, nodeOf(1)), { recursive: true });
  symlinkSync(outside, join(at.tree, nodeOf(1)));
  under.signal("SIGUSR2");
  const { status, err } = await under.ended;
  assert.equal(status, 5, err);
  assert.match(err, /N2I-E301/);
  assert.deepEqual(readdirSync(outside), []);
});

test("a takeover after staging is fixed again, and undo leaves what Ironic did", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  await at.boot(0, "--yes");
  rmSync(join(at.tree, linkPath(1)));
  rmSync(join(at.tree, nodeOf(1)), { recursive: true });
  writeTree(at.tree, takenOver(1));
  const left = at.digest();
  assert.match((await at.boot(2, "--verify")).out, /^Verify: 1 stumbles\.$/m);
  await at.boot(0, "--yes");
  assert.match((await at.boot(0, "--verify")).out, /^Verify: 1 ready\.$/m);
  await at.boot(2, "--undo", "--yes");
  assert.equal(at.digest(), left);
});

test("a boot file that changes between the look and the hand is not written over", async (t) => {
  const at = await bootScene(t, "juno", [1], takenOver(1));
  const under = at.start(["--yes", "-q"], "start.after:1:pause");
  await under.said("failpoint start.after");
  const other = ironicConfig(1, "boot", { chosen: "boot", root: "/dev/sda1" });
  writeFileSync(join(at.tree, nodeOf(1), "config"), other);
  under.signal("SIGUSR2");
  const { status, err } = await under.ended;
  assert.equal(status, 5, err);
  assert.match(err, /N2I-E300 .*config has changed since it was inspected/);
  assert.equal(at.read(`${nodeOf(1)}/config`), other);
});
