import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deployed, readings, run, startTool, user } from "./deployed.ts";

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

/** Resolves when the first answer is kept. */
async function answered(partial: string): Promise<void> {
  while (!existsSync(partial) || readFileSync(partial, "utf8").split("\n").length < 3)
    await sleep(20);
}

const WORDS = ["power", "--run", "run", "--rate", "10"];

test("--only and --node destroy nothing of a run that was stopped", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) => ({ users: user(at + 1) }));
  const at = await deployed(t, bmcs);
  const first = startTool(at.folder, WORDS, undefined, 1000);
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
  const logins = at.farm.counts().logins;
  const again = await run(at.folder, WORDS);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder).length, 30);
  // Those whose answer was kept are not asked again.
  const asked = at.farm.counts().logins - logins;
  assert.equal(asked, 31 - kept.trim().split("\n").length);
});
