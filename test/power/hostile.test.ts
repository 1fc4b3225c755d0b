import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { copyFolder } from "../support/copy-folder.ts";
import { smallDisk } from "../support/small-disk.ts";
import { deployed, readings, run, startTool, user } from "./deployed.ts";

/** Resolves when the first answer is kept. */
async function answered(partial: string): Promise<void> {
  while (!existsSync(partial) || readFileSync(partial, "utf8").split("\n").length < 3)
    await sleep(20);
}

const WORDS = ["power", "--run", "run", "--rate", "10"];

test("Ctrl-C twice ends at once, and the next run goes on with what was answered", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) =>
    at < 5 ? { users: user(at + 1), dead: true } : { users: user(at + 1) },
  );
  const at = await deployed(t, bmcs);
  const first = startTool(at.folder, WORDS);
  const partial = join(at.folder, "run", "power.jsonl.partial");
  await answered(partial);
  first.stop();
  await sleep(20);
  first.stop();
  const stopped = await first;
  // Without a status the second signal itself ended it, which a shell calls 130, too.
  assert.ok(stopped.code === 130 || stopped.code === -1, `${stopped.code} ${stopped.err}`);
  const kept = readFileSync(partial, "utf8").trim().split("\n").length - 1;
  assert.ok(kept > 0, String(kept));
  for (let id = 6; id <= 30; id++) at.farm.change(at.addresses[id - 1] ?? "", { dead: true });
  const again = await run(at.folder, [...WORDS.slice(0, 3), "--deadline", "2"]);
  assert.equal(again.code, 3, again.err);
  const ok = readings(at.folder).filter(({ verdict }) => verdict === "ok");
  assert.equal(ok.length, kept);
  assert.equal(readings(at.folder).length, 30);
  assert.ok(!existsSync(partial));
});

test("an edited power.jsonl is refused by plan and apply, and asking again replaces it", async (t) => {
  const at = await deployed(t, [{ users: user(1), power: true }]);
  assert.equal((await run(at.folder, WORDS)).code, 0);
  const path = join(at.folder, "run", "power.jsonl");
  const plan = ["plan", "--run", "run", ...at.written.ironic, "-q"];
  assert.equal((await run(at.folder, plan)).code, 0);
  writeFileSync(path, readFileSync(path, "utf8").replace('"power":"on"', '"power":"off"'));
  const apply = ["apply", "--run", "run", ...at.written.ironic, "--yes"];
  for (const words of [plan, apply]) {
    const refused = await run(at.folder, words);
    assert.match(refused.err, /N2I-E112/);
    assert.notEqual(refused.code, 0);
  }
  const again = await run(at.folder, WORDS);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder)[0]?.power, "on");
  const other = await run(at.folder, apply);
  assert.match(other.err, /N2I-E307 .*power\.jsonl is not what the plan was made with/);
  assert.equal((await run(at.folder, plan)).code, 0);
});

test("on a full disk power is refused, and goes on where it was once there is room", async (t) => {
  const disk = smallDisk(t, "size=256k");
  const at = await deployed(
    t,
    Array.from({ length: 60 }, (_, n) => ({ users: user(n + 1) })),
  );
  copyFolder(join(at.folder, "run"), join(disk, "run"));
  spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "filler")}`, "bs=1k"]);
  spawnSync("truncate", ["-s", "-12K", join(disk, "filler")]);
  const words = ["power", "--run", join(disk, "run")];
  const refused = await run(at.folder, words);
  assert.match(refused.err, /N2I-E120.*ENOSPC/s);
  assert.notEqual(refused.code, 0);
  rmSync(join(disk, "filler"));
  const sessions = (): number => at.farm.counts().received;
  const before = sessions();
  const again = await run(at.folder, words);
  assert.equal(again.code, 0, again.err);
  assert.match(again.err, /60 of 60 machines answered/);
  // Ten datagrams each, and those that were written are not asked again.
  assert.ok(sessions() - before < 60 * 10, String(sessions() - before));
});

test("--only and --node destroy nothing of a run that was stopped", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) => ({ users: user(at + 1) }));
  const at = await deployed(t, bmcs);
  const first = startTool(at.folder, WORDS);
  const partial = join(at.folder, "run", "power.jsonl.partial");
  await answered(partial);
  first.stop();
  assert.equal((await first).code, 130);
  const kept = readFileSync(partial, "utf8");
  const only = await run(at.folder, [...WORDS, "--only", "failed"]);
  assert.match(only.err, /N2I-E110.*no readings of this snapshot/s);
  assert.equal((await run(at.folder, [...WORDS, "--node", "3"])).code, 0);
  assert.deepEqual(
    readings(at.folder).map(({ bm_node_ids }) => bm_node_ids),
    [[3]],
  );
  assert.equal(readFileSync(partial, "utf8"), kept);
  const { received } = at.farm.counts();
  const again = await run(at.folder, WORDS);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder).length, 30);
  // Ten datagrams each, and whoever was in flight at the end is asked anew.
  const asked = (at.farm.counts().received - received) / 10;
  assert.ok(asked <= 31 - kept.trim().split("\n").length, String(asked));
});
