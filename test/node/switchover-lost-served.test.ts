import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isUuid } from "../../src/model/uuid.ts";
import { acceptedIn, writeAnew } from "../../src/stages/switchover-state.ts";
import { run, runs } from "../hostile/cli.ts";
import { refuses } from "./in-memory.ts";
import { LOOKS, LOSSES, loses, MARKS, OTHER, restored, writesTo } from "./switch-lost.ts";
import { SOURCE, SPARE, switchedDump } from "./switch-memory.ts";
import { addSource, addSpare, servedSwitchover } from "./switch-served.ts";

const SERVED = new Set(["locked before it is marked", "given an instance once it is managed"]);
const GONE = LOSSES.find(({ what }) => what === "given an instance") ?? assert.fail();

test("what was accepted without a target takes the next spare as well, and GET says which", async (t) => {
  // What each of them comes to is the command's test.
  for (const loss of LOSSES.filter(({ what }) => SERVED.has(what))) {
    const { cloud, put, until, get, state, said } = await servedSwitchover(t);
    const [next, other] = [addSpare(cloud, 1), addSource(cloud, 1)];
    loses(cloud, loss);
    assert.equal((await put("n-1", {})).status, 202);
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.deepEqual([shown.state, shown.target], ["DONE", next], `${loss.what}: ${said.join()}`);
    assert.match(said.join("\n"), loss.why, loss.what);
    assert.match((await get(next)).text, new RegExp(String(shown.id)), loss.what);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], loss.what);
    const { out } = await runs(0, ["status", "--run", join(state, String(shown.id))]);
    assert.match(out, new RegExp(next), loss.what);
    // Nobody of this service has the lost one.
    restored(cloud);
    cloud.use(() => null);
    assert.equal((await put(other, { target_node: "s-1" })).status, 202, loss.what);
    await until(other, "DONE");
  }
});

test("what was accepted with a target keeps to it, and what finds no other spare is rolled back", async (t) => {
  const named = await servedSwitchover(t);
  const next = addSpare(named.cloud, 1);
  const before = switchedDump(named.cloud);
  loses(named.cloud, GONE);
  assert.equal((await named.put("n-1", { target_node: "s-1" })).status, 202);
  const back = await named.until(SOURCE, "ROLLED_BACK", "DONE");
  assert.match(String(back.error), /N2I-E381 .*has instance/);
  assert.deepEqual([back.target, writesTo(named.cloud, next), named.cloud.told], [SPARE, [], []]);
  restored(named.cloud);
  assert.equal(switchedDump(named.cloud), before);

  const alone = await servedSwitchover(t);
  loses(alone.cloud, GONE);
  assert.equal((await alone.put("n-1", {})).status, 202);
  const none = await alone.until(SOURCE, "ROLLED_BACK", "DONE");
  assert.match(String(none.error), /N2I-E387 no suitable destination/);
  restored(alone.cloud);
  assert.deepEqual([switchedDump(alone.cloud), alone.cloud.told], [alone.before, []]);
});

test("of two that lose their spares at once one has the last spare, and the other is rolled back", async (t) => {
  const { cloud, put, until, said } = await servedSwitchover(t);
  const [other, second, last] = [addSource(cloud, 1), addSpare(cloud, 1), addSpare(cloud, 2)];
  Object.assign(cloud.nodes.get(last) ?? {}, { maintenance: true });
  const marked = new Set<string>();
  cloud.use((call) => {
    for (const spare of [SPARE, second]) {
      if (call === `PATCH /v1/nodes/${spare}`) marked.add(spare);
      if (call !== `GET /v1/nodes/${spare}` || !marked.has(spare)) continue;
      const now =
        marked.size < 2 ? { reservation: "c" } : { reservation: null, instance_uuid: OTHER };
      Object.assign(cloud.nodes.get(spare) ?? {}, now);
    }
    if (marked.size === 2) Object.assign(cloud.nodes.get(last) ?? {}, { maintenance: false });
    return null;
  });
  assert.equal((await put(SOURCE, {})).status, 202);
  assert.equal((await put(other, {})).status, 202);
  const ends = [];
  for (const one of [SOURCE, other]) ends.push(await until(one, "DONE", "ROLLED_BACK"));
  assert.deepEqual(ends.map((one) => one.state).toSorted(), ["DONE", "ROLLED_BACK"]);
  assert.equal(ends.find((one) => one.state === "DONE")?.target, last);
  // It is kept to one before either marks it.
  assert.doesNotMatch(said.join("\n"), /is in switchover|was changed by somebody/);
});

test("a service that ends between two spares goes on with the next one once it is started again", async (t) => {
  const { cloud, put, until, end, again } = await servedSwitchover(t);
  const next = addSpare(cloud, 1);
  const spare = cloud.nodes.get(SPARE) ?? {};
  let marks = 0;
  const ended = new Promise<void>((resolve) => {
    cloud.use((call) => {
      if (call === MARKS) marks += 1;
      if (marks === 1 && call === LOOKS) spare.instance_uuid = OTHER;
      // Its mark is off again: the next is being looked for.
      if (marks === 2 && call.includes("provision_state=manageable")) resolve(end());
      return null;
    });
  });
  assert.equal((await put("n-1", {})).status, 202);
  await ended;
  assert.deepEqual([writesTo(cloud, next), cloud.told], [[], []]);
  cloud.use(() => null);
  await again();
  const shown = await until(SOURCE, "DONE", "ROLLED_BACK");
  assert.deepEqual([shown.state, shown.target], ["DONE", next]);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
});

/** A service whose process ends after its first spare was lost, and before it found the next one. */
async function betweenSpares(t: TestContext, { locked = false } = {}) {
  const at = await servedSwitchover(t);
  const { cloud, put, end } = at;
  const next = addSpare(cloud, 1);
  const spare = cloud.nodes.get(SPARE) ?? {};
  let marks = 0;
  const ended = new Promise<void>((resolve) => {
    cloud.use((call) => {
      if (call === MARKS) marks += 1;
      if (marks === 1 && call === LOOKS)
        Object.assign(spare, { instance_uuid: OTHER, ...(locked && { reservation: "h" }) });
      if (marks < 2 || !call.includes("provision_state=")) return null;
      resolve(end());
      return { done: false, says: null };
    });
  });
  assert.equal((await put("n-1", {})).status, 202);
  await ended;
  cloud.use(() => null);
  const [id = ""] = readdirSync(at.state).filter(isUuid);
  const note = JSON.parse(readFileSync(join(at.state, id, "switchover.json"), "utf8")) as {
    readonly decided: { readonly destination: string };
  };
  assert.equal(note.decided.destination, SPARE, "none other is written down");
  return { ...at, next, path: join(at.state, id) };
}

test("what was accepted is not lost where its process dies between two spares", async (t) => {
  const { cloud, until, again, next } = await betweenSpares(t);
  // It was lost: that it is free again is no reason to try it once more.
  restored(cloud);
  Object.assign(cloud.nodes.get(SPARE) ?? {}, { power_state: "power off" });
  await again();
  const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
  assert.deepEqual([shown.state, shown.target, shown.error], ["DONE", next, null]);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
});

test("one that somebody took back meanwhile stays so, and GET says why", async (t) => {
  for (const how of ["between two", "its mark is left", "the next is written down"] as const) {
    const locked = how === "its mark is left";
    const { cloud, until, again, next, path, state } = await betweenSpares(t, { locked });
    if (how === "the next is written down") {
      const [accepted = assert.fail()] = await acceptedIn(state);
      await writeAnew(accepted, { ...accepted.plan, destination: next });
    }
    const words = ["rollback", "--run", path, ...cloud.words, "--all", "--yes"];
    const { out } = await runs(locked ? 2 : 0, words, cloud.how);
    assert.match(out, locked ? /Rollback: 1 left/ : /Rollback: n-1 is as it was/, how);
    cloud.calls.length = 0;
    await again();
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.notEqual(shown.state, "DONE", how);
    assert.match(String(shown.error), /N2I-E389 it was taken back by rollback, or by a service/);
    const reads = (call: string) => call.startsWith("GET") || call.startsWith("POST /v3");
    assert.deepEqual([cloud.calls.filter((call) => !reads(call)), cloud.told], [[], []], how);
  }
});

/** A service whose process ends right behind its answer. */
async function unbegun(t: TestContext, more: { keepSource?: boolean } = {}) {
  const at = await servedSwitchover(t, more);
  at.cloud.use((call) => (call.startsWith("PATCH") ? { done: false, says: null } : null));
  assert.equal((await at.put("n-1", {})).status, 202);
  await at.end();
  const [id = ""] = readdirSync(at.state).filter(isUuid);
  for (const file of ["journal.jsonl", "run.place"]) rmSync(join(at.state, id, file));
  at.cloud.use(() => null);
  // One that would be chosen before it.
  const sooner = addSpare(at.cloud, 1);
  const ready = { name: "a-1", provision_state: "manageable", power_state: "power off" };
  Object.assign(at.cloud.nodes.get(sooner) ?? {}, ready);
  return { ...at, sooner };
}

test("a service that is started again keeps the target that it accepted, and takes another where that is no spare", async (t) => {
  for (const [change, taken] of [
    [{}, SPARE],
    [{ maintenance: true }, null],
    [{ reservation: "h" }, null],
    [{ resource_class: "x" }, null],
    [null, null],
  ] as const) {
    const { cloud, again, until, sooner } = await unbegun(t);
    if (change === null) cloud.nodes.delete(SPARE);
    else Object.assign(cloud.nodes.get(SPARE) ?? {}, change);
    await again();
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.deepEqual(
      [shown.state, shown.target],
      ["DONE", taken ?? sooner],
      JSON.stringify(change),
    );
  }
});

test("it goes on by the words that it accepted with", async (t) => {
  const more = { keepSource: true };
  const { cloud, again, until } = await unbegun(t, more);
  more.keepSource = false;
  await again();
  await until(SOURCE, "DONE");
  assert.equal(cloud.nodes.get(SOURCE)?.provision_state, "active", "it is not torn down");
});

/** What was accepted by a service whose Ironic answers so where the spare is to be managed. */
async function brokenAt(t: TestContext, status: number) {
  const at = await servedSwitchover(t);
  const managed = `PUT /v1/nodes/${SPARE}/states/provision`;
  const broken = { done: false, says: refuses(status, "broken") };
  at.cloud.use((call) => (call === managed ? broken : null));
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
  while (!(await get("n-1")).text.includes("broken")) await sleep(10);
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
