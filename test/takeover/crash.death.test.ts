import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { start } from "../hostile/cli.ts";
import { smallBatches } from "../support/batches.ts";
import { FROM_H1, type HostCloud, hostCloud } from "./cloud.ts";

// Deaths at every entry of the journal, on the way there and back, are in steps/host-move.test.

/** The fence's commit, then those of two batches of machines. */
const COMMITS = [
  "fence.commit.before:1",
  "fence.commit.after:1",
  "nova.commit.before:1",
  "nova.commit.after:2",
];
/** The way back: two batches of machines, then the fence. */
const BACK_COMMITS = [
  "nova.commit.before:1",
  "nova.commit.after:1",
  "nova.commit.before:3",
  "nova.commit.after:3",
];

const TAKE = ["host", "takeover", ...FROM_H1];
const ALL = ["rollback", "--all", "--yes"];

async function dies(words: readonly string[], point: string): Promise<void> {
  const { status, err } = await start(words, { env: { NOVA2IRONIC_FAILPOINT: `${point}:kill` } })
    .ended;
  assert.equal(status, 128, `${point}: ${err}`);
}

for (const engine of ["sqlite", "mysql", "postgresql"] as const)
  test(`on ${engine}, a takeover that is killed around a commit goes on by the same words, or back`, async (t) => {
    smallBatches(t);
    const dead = { H1: { forced_down: false } };
    const cloud = await hostCloud(t, { engine, machines: 6, services: dead });
    const state = async () => JSON.stringify([await cloud.owners(), await cloud.services()]);
    const before = await state();
    const runOf = (name: string) => ["--run", join(cloud.folder, "runs", name), ...cloud.nova];
    const ends = async (cloud: HostCloud, words: readonly string[], name: string) => {
      const ran = await cloud.host(...words, "--run", join(cloud.folder, "runs", name));
      assert.equal(ran.status, 0, `${words.join(" ")} ${name}\n${ran.out}${ran.err}`);
    };
    for (const [at, point] of COMMITS.entries()) {
      const on = `on-${at}`;
      await dies([...TAKE, ...runOf(on)], point);
      await ends(cloud, TAKE, on);
      const owners = await cloud.owners();
      assert.ok(
        owners.slice(0, 6).every((row) => / H2 NULL (H2|-)$/.test(row)),
        `${point}: ${owners.join("; ")}`,
      );
      assert.equal(Boolean((await cloud.services())[0]?.forced_down), true, point);
      await ends(cloud, ALL, on);
      assert.equal(await state(), before, point);
      // The same death, and nothing but a rollback after it.
      const alone = `alone-${at}`;
      await dies([...TAKE, ...runOf(alone)], point);
      await ends(cloud, ALL, alone);
      assert.equal(await state(), before, `${point}, taken back`);
    }
    for (const [at, point] of BACK_COMMITS.entries()) {
      const name = `undo-${at}`;
      await ends(cloud, TAKE, name);
      await dies([...ALL, ...runOf(name)], point);
      await ends(cloud, TAKE, name);
      await ends(cloud, ALL, name);
      assert.equal(await state(), before, point);
    }
  });
