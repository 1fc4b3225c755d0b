import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { writeTree } from "../../cases/write-case.ts";
import { refused } from "../../hostile/cli.ts";
import {
  type BootScene,
  bootScene,
  ironicConfig,
  linkPath,
  nodeOf,
  novaTree,
  takenOver,
} from "../../support/boot.ts";

const POINTS = [
  ...["open.before", "open.after", "start.before", "start.after", "end.before"],
  ...["boot.temp", "boot.temp:2", "boot.temp:3", "boot.step", "boot.step:3", "end.after:2"],
];

/** Lets the run forget what it staged: the tree is as it was, or the test would not be here. */
function forget({ run }: BootScene): void {
  for (const file of ["journal.jsonl", "run.place"]) rmSync(join(run, file), { force: true });
}

async function killed(at: BootScene, point: string, ...options: readonly string[]): Promise<void> {
  const counted = point.includes(":") ? point : `${point}:1`;
  const { status, err } = await at.start(options, `${counted}:kill`).ended;
  assert.equal(status, 128, `${point}\n${err}`);
}

test("killed anywhere, staging goes on with the same command, and undo gives the tree back", async (t) => {
  const at = await bootScene(t, "juno", [1, 2], takenOver(2));
  const before = at.digest();
  for (const point of POINTS) {
    await killed(at, point, "--yes");
    await at.boot(0, "--yes");
    assert.match((await at.boot(0, "--verify")).out, /^Verify: 2 ready\.$/m, point);
    assert.doesNotMatch(at.digest(), /\.n2i-/, `${point} left something half made`);
    await at.boot(0, "--undo", "--yes");
    assert.equal(at.digest(), before, point);
    forget(at);
  }
});

test("killed anywhere, a staging is taken back without going on, and undo itself goes on", async (t) => {
  const undo = ["return.before", "return.after", "boot.temp", "boot.step:2", "returned.before"];
  const at = await bootScene(t, "juno", [1, 2], takenOver(2));
  const before = at.digest();
  for (const point of ["boot.temp", "boot.step:2", "end.before"]) {
    await killed(at, point, "--yes");
    await at.boot(0, "--undo", "--yes");
    assert.equal(at.digest(), before, point);
    forget(at);
  }
  for (const point of undo) {
    await at.boot(0, "--yes");
    await killed(at, point, "--undo", "--yes");
    await at.boot(0, "--undo", "--yes");
    assert.equal(at.digest(), before, point);
    forget(at);
  }
});

test("killed at each step in nova's own tree, its links and its files are back after undo", async (t) => {
  // A conductor that shares the old host's tree: links are replaced there, and not made.
  const at = await bootScene(t, "juno", [1], { "pxelinux.cfg": null, ...novaTree(1) });
  const before = at.digest();
  const steps = ["boot.temp:1", "boot.temp:2", "boot.temp:3", "boot.temp:4"];
  const points = [...steps, ...[1, 2, 3, 4, 5].map((n) => `boot.step:${n}`)];
  for (const [n, point] of points.entries()) {
    await killed(at, point, "--yes");
    assert.notEqual(at.digest(), before);
    if (n % 2 === 0) await at.boot(0, "--yes");
    await at.boot(0, "--undo", "--yes");
    assert.equal(at.digest(), before, point);
  }
  await at.boot(0, "--yes");
  for (const point of ["boot.temp:1", "boot.step:1", "boot.step:4", "boot.step:5"]) {
    await killed(at, point, "--undo", "--yes");
  }
  await at.boot(0, "--undo", "--yes");
  assert.equal(at.digest(), before);
});

test("after any hands in a tree, undo gives back what staging found", async (t) => {
  const at = await bootScene(t, "juno", [1, 2, 3], {});
  const entry = (id: number) => {
    const own = Object.entries({ ...takenOver(id), [`${nodeOf(id)}/other`]: "kept\n" });
    const others = fc.constantFrom(
      {},
      { [linkPath(id)]: { link: "/tftpboot/elsewhere/config" } },
      { [`${nodeOf(id)}/config`]: ironicConfig(9, "boot") },
      { [`${nodeOf(id)}/kernel`]: "" },
    );
    const kept = fc.subarray(own).map((some) => Object.fromEntries(some));
    return fc.tuple(kept, others).map(([some, other]) => ({ ...some, ...other }));
  };
  await fc.assert(
    fc.asyncProperty(entry(1), entry(2), entry(3), async (one, two, three) => {
      rmSync(at.tree, { recursive: true });
      forget(at);
      writeTree(at.tree, { ...one, ...two, ...three });
      const before = at.digest();
      const { status, err } = await at.does("--yes");
      assert.ok(status === 0 || status === 3, err);
      await at.boot(0, "--undo", "--yes");
      assert.equal(at.digest(), before);
    }),
    { seed: 12, numRuns: Number(process.env.N2I_RUNS ?? 12) },
  );
});

test("a journal that was edited to reach out of the tree is refused", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  await at.boot(0, "--yes");
  const journal = join(at.run, "journal.jsonl");
  const outside = join(at.tree, "..", "outside");
  mkdirSync(outside);
  copyFileSync(journal, join(outside, "config"));
  const text = readFileSync(journal, "utf8");
  writeFileSync(journal, text.replaceAll(`"${nodeOf(1)}/config"`, '"../outside/config"'));
  const words = ["boot", "--run", at.run, "--tftp-root", at.tree, "--undo", "--yes", "-q"];
  await refused(words, 4, "N2I-E112");
});
