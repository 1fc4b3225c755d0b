import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isUuid } from "../../src/lib/uuid.ts";
import { run, runs } from "../hostile/cli.ts";
import { refuses } from "../manage/in-memory.ts";
import { BROKEN } from "../manage/scene.ts";
import { LOSSES, loses, restored, writesTo } from "./lost.ts";
import { addSpare, SOURCE, SPARE, switchedDump } from "./switch-memory.ts";
import { servedSwitchover } from "./switch-served.ts";

const LOSS = LOSSES.find(({ what }) => what === "given an instance") ?? assert.fail();

test("what loses its spare is rolled back, with a target or without, and the next request gets another", async (t) => {
  for (const body of [{ target_node: "s-1" }, {}]) {
    const { cloud, put, until } = await servedSwitchover(t);
    const next = addSpare(cloud, 1);
    const before = switchedDump(cloud);
    loses(cloud, LOSS);
    assert.equal((await put("n-1", body)).status, 202);
    const back = await until(SOURCE, "ROLLED_BACK", "DONE");
    assert.match(String(back.error), /N2I-E381 .*has instance/);
    assert.deepEqual([back.target, writesTo(cloud, next), cloud.told], [SPARE, [], []]);
    restored(cloud);
    assert.equal(switchedDump(cloud), before);
    cloud.setNode(SPARE, LOSS.change);
    assert.equal((await put("n-1", {})).status, 202);
    assert.equal((await until(SOURCE, "DONE")).target, next);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  }
});

/** A service whose process ends right behind its answer. */
async function unbegun(t: TestContext, more: { leaveNova?: boolean } = {}) {
  const at = await servedSwitchover(t, more);
  at.cloud.fail(/^PATCH/, BROKEN);
  assert.equal((await at.put("n-1", {})).status, 202);
  await at.end();
  const [id = ""] = readdirSync(at.state).filter(isUuid);
  for (const file of ["journal.jsonl", "run.place"]) rmSync(join(at.state, id, file));
  at.cloud.use(() => null);
  // One that would be chosen before it.
  const sooner = addSpare(at.cloud, 1);
  const ready = { name: "a-1", provision_state: "manageable", power_state: "power off" };
  at.cloud.setNode(sooner, ready);
  return { ...at, sooner };
}

test("a service that is started again keeps the target that it accepted, and fails if that is no spare any more", async (t) => {
  for (const [change, state] of [
    [{}, "DONE"],
    [{ maintenance: true }, "FAILED"],
    [null, "FAILED"],
  ] as const) {
    const { cloud, again, until, sooner } = await unbegun(t);
    if (change === null) cloud.nodes.delete(SPARE);
    else cloud.setNode(SPARE, change);
    await again();
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.deepEqual([shown.state, shown.target], [state, SPARE], JSON.stringify(change));
    assert.deepEqual(writesTo(cloud, sooner), []);
    assert.equal(cloud.told.length, state === "DONE" ? 2 : 0);
  }
});

test("it leaves Nova alone if it accepted the request so", async (t) => {
  const more = { leaveNova: true };
  const { again, until, said } = await unbegun(t, more);
  more.leaveNova = false;
  await again();
  await until(SOURCE, "DONE");
  assert.match(said.join("\n"), /Nova still has server/);
});

/** What was accepted by a service whose Ironic answers so where the spare is to be managed. */
async function brokenAt(t: TestContext, status: number) {
  const at = await servedSwitchover(t);
  const managed = `PUT /v1/nodes/${SPARE}/states/provision`;
  const broken = { done: false, says: refuses(status, "broken") };
  at.cloud.fail(managed, broken);
  assert.equal((await at.put("n-1", { target_node: "s-1" })).status, 202);
  return at;
}

test("what stopped a service is told no more once a command came to its end", async (t) => {
  const { cloud, until, end, again, state } = await brokenAt(t, 403);
  const stopped = await until(SOURCE, "FAILED", "ROLLED_BACK", "DONE");
  assert.match(String(stopped.error), /broken/);
  cloud.use(() => null);
  await end();
  const path = join(state, String(stopped.id));
  await runs(0, ["node", "switchover", SOURCE, "--run", path, ...cloud.words], cloud.how);
  await again();
  const { state: reached, error } = await until(SOURCE, "DONE", "FAILED");
  assert.deepEqual([reached, error], ["DONE", null]);
});

test("what is taken back while a service waits for Ironic stays so", async (t) => {
  const { cloud, get, until, again, state, before } = await brokenAt(t, 500);
  for (let text = ""; !text.includes("broken"); ) ({ text } = await get("n-1"));
  const [id = ""] = readdirSync(state).filter(isUuid);
  const words = ["rollback", "--run", join(state, id), ...cloud.words, "--all", "--yes"];
  // Between two tries the run is nobody's.
  for (let status = -1; status !== 0; ) ({ status = -1 } = await run(words, cloud.how));
  cloud.use(() => null);
  assert.match(String((await until(SOURCE, "ROLLED_BACK", "DONE")).error), /N2I-E389/);
  await again();
  await until(SOURCE, "ROLLED_BACK");
  assert.deepEqual([switchedDump(cloud), cloud.told], [before, []]);
});
