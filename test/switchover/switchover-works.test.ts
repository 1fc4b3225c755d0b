import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { objectOf } from "../../src/lib/json.ts";
import { SWITCH_MARK } from "../../src/switchover/rules/switching.ts";
import { runs } from "../hostile/cli.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { BROKEN, REFUSED, writes } from "../manage/scene.ts";
import { isWrite } from "../support/faulty-service.ts";
import { signal } from "../support/signal.ts";
import { addSource, addSpare, SOURCE, SPARE, switchedDump } from "./switch-memory.ts";
import { commandScene, sentence, servedSwitchover } from "./switch-served.ts";

test("of two PUTs at once for one source one is 202 and the other 409, also where its search for a spare ends after the first began", async (t) => {
  const { put, until, cloud } = await servedSwitchover(t);
  let listed = 0;
  const [marked, answered] = [signal(), signal()];
  cloud.use((call) => {
    const lists = call.includes("provision_state=enroll");
    if (lists) listed += 1;
    if (SWITCH_MARK in objectOf(cloud.nodes.get(SPARE)?.extra)) marked.set();
    // The only spare is marked before the second list is made, and the source is not off yet.
    if (lists && listed === 2) return { done: true, before: marked.isSet };
    const powers = call === `PUT /v1/nodes/${SOURCE}/states/power`;
    return powers ? { done: true, before: answered.isSet } : null;
  });
  const both = await Promise.all([put("n-1", {}), put(SOURCE, {})]);
  answered.set();
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [202, 409]);
  assert.equal(listed, 2);
  await until(SOURCE, "DONE");
});

test("B-15: of ten sources that want one spare one is 202, and the others change nothing", async (t) => {
  const { put, until, cloud } = await servedSwitchover(t);
  const sources = [SOURCE, ...Array.from({ length: 9 }, (_, at) => addSource(cloud, at + 1))];
  const all = await Promise.all(sources.map((one) => put(one, {})));
  const statuses = all.map(({ status }) => status);
  assert.equal(statuses.filter((one) => one === 202).length, 1, statuses.join());
  assert.ok(statuses.every((one) => [202, 400, 409].includes(one)));
  const winner = sources[statuses.indexOf(202)] ?? "";
  await until(winner, "DONE");
  for (const one of sources.filter((other) => other !== winner)) {
    const { power_state, extra } = cloud.nodes.get(one) ?? {};
    assert.deepEqual([power_state, extra], ["power on", { "a/b~": 1, rack: 7 }]);
  }
});

test("four sources have four spares at once", async (t) => {
  const { put, until, cloud } = await servedSwitchover(t);
  const sources = [SOURCE, ...Array.from({ length: 3 }, (_, at) => addSource(cloud, at + 1))];
  for (let at = 1; at < sources.length; at += 1) addSpare(cloud, at);
  const all = await Promise.all(sources.map((one) => put(one, {})));
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([202]));
  const targets = await Promise.all(sources.map(async (one) => (await until(one, "DONE")).target));
  assert.equal(new Set(targets).size, sources.length);
  assert.ok(!cloud.told.some((one) => one.includes("twice")));
});

test("B-9: a dead BMC is told as WAIT_FENCE, and the command ends it with somebody's word", async (t) => {
  const { put, until, cloud, state, said, again } = await servedSwitchover(t, { proofTimeout: 0 });
  cloud.setMachine(SOURCE, { dead: true });
  assert.equal((await put("n-1", { target_node: "s-1" })).status, 202);
  const waits = await until(SOURCE, "WAIT_FENCE");
  assert.equal(waits.step, "SRC_OFF");
  assert.match(String(waits.error), /N2I-E388 WAIT_FENCE: .*nothing was moved/);
  assert.equal(cloud.targets.get(uuidOf(5, 1))?.node_uuid, SOURCE);
  assert.equal((await put("n-1", {})).status, 409, said.join("\n"));
  // Days later the machine may be repaired, and in use: no restart goes on with it.
  cloud.calls.length = 0;
  cloud.setMachine(SOURCE, { dead: false });
  await again();
  await until(SOURCE, "WAIT_FENCE");
  assert.ok(writes(cloud).every((call) => call.startsWith("POST /v3")));
  cloud.setMachine(SOURCE, { on: false, dead: true });
  const words = ["--run", join(state, String(waits.id)), ...cloud.words, "--proof-interval", "0"];
  const fenced = ["--proof-timeout", "0", "--source-confirmed-off"];
  await runs(0, ["node", "switchover", SOURCE, ...words, ...fenced], cloud.how);
  await until(SOURCE, "DONE");
});

test("what is refused amid it is taken back, and can be asked for again", async (t) => {
  const { put, until, cloud, before } = await servedSwitchover(t);
  cloud.fail(`PATCH /v1/volume/targets/${uuidOf(5, 2)}`, REFUSED);
  assert.equal((await put("n-1", {})).status, 202);
  const back = await until(SOURCE, "ROLLED_BACK");
  assert.match(String(back.error), /N2I-E389 .*not today/);
  cloud.use(() => null);
  assert.equal(switchedDump(cloud), before);
  assert.equal((await put("n-1", {})).status, 202);
  const done = await until(SOURCE, "DONE");
  assert.notEqual(done.id, back.id);
});

test("an Ironic that is away for a while is waited for", async (t) => {
  const { put, until, cloud, get } = await servedSwitchover(t);
  let isAway = false;
  cloud.use((call) => {
    isAway ||= call.startsWith("PATCH /v1/volume/targets");
    return isAway ? BROKEN : null;
  });
  assert.equal((await put("n-1", {})).status, 202);
  while (!isAway) await get(SOURCE);
  cloud.use(() => null);
  await until(SOURCE, "DONE");
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  const gone = await servedSwitchover(t, {}, 9);
  const tried = () => gone.said.filter((text) => text.includes("N2I-E")).length;
  gone.cloud.use((call) => {
    const lost = tried() < 5 ? `PATCH /v1/nodes/${SPARE}` : "PATCH /v1/volume/targets";
    return call.startsWith(lost) ? BROKEN : null;
  });
  assert.equal((await gone.put("n-1", {})).status, 202);
  const { error } = await gone.until(SOURCE, "FAILED");
  assert.equal(tried(), 9, "in all");
  assert.match(error ?? "", /^N2I-E301 .*not power the source on; tried 9 times. To resume: n/s);
});

test("a service that ends stops at the end of a step, and goes on where it is started again", async (t) => {
  for (const stopAt of ["states/power", "volume/targets"]) {
    const { put, until, cloud, end, again } = await servedSwitchover(t);
    const ending = signal();
    let ended: Promise<unknown> | null = null;
    cloud.use((call) => {
      if (!isWrite(call) || !call.includes(stopAt)) return;
      ended ??= end();
      ending.set();
    });
    assert.equal((await put("n-1", {})).status, 202);
    await ending.isSet;
    await ended;
    const { length } = cloud.calls;
    for (let turns = 0; turns < 100; turns += 1) await setImmediate();
    assert.equal(cloud.calls.length, length, "nothing is asked any more");
    assert.ok(!cloud.told.includes("n-1 on"), `${stopAt}: it stopped before the spare is deployed`);
    cloud.use(() => null);
    await again();
    await until(SOURCE, "DONE");
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], stopAt);
  }
});

test("the spare is an option or the second argument", async (t) => {
  for (const words of [["--destination", "s-1"], []]) {
    const { how, own } = await commandScene(t);
    const { out } = await runs(0, ["node", "switchover", "n-1", ...words, ...own], how);
    assert.match(out, new RegExp(`runs on ${SPARE} `));
  }
});

test("a PUT that is sent again after its end does not switch over the machine that has the name now", async (t) => {
  const { put, until, cloud, again } = await servedSwitchover(t);
  addSpare(cloud, 1);
  assert.equal((await put("n-1", { target_node: "s-1" })).status, 202);
  await until(SOURCE, "DONE");
  const told = [...cloud.told];
  await again();
  const refused = await put("n-1", {});
  assert.equal(refused.status, 409);
  assert.match(sentence(refused), /use the uuid of the node/);
  assert.deepEqual(cloud.told, told);
  assert.equal((await put(SPARE, {})).status, 202, "who names it means it");
  await until(SPARE, "DONE");
});

test("what was accepted and never begun is decided anew, and what somebody edited is not believed", async (t) => {
  const other = { instance_uuid: uuidOf(9, 50), allocation_uuid: uuidOf(9, 50) };
  for (const [change, state, why] of [
    [{}, "DONE", /null/],
    [other, "FAILED", /N2I-E383 .*has instance/],
    [{ protected: true }, "FAILED", /N2I-E383 .*protected/],
  ] as const) {
    const { put, until, cloud, state: folder, end, again } = await servedSwitchover(t);
    cloud.fail(/^PATCH/, BROKEN);
    assert.equal((await put("n-1", {})).status, 202);
    await end();
    const [id = ""] = readdirSync(folder).filter((name) => /^[0-9a-f-]{36}$/.test(name));
    // As a process leaves it that dies right behind its answer.
    for (const file of ["journal.jsonl", "run.place"]) rmSync(join(folder, id, file));
    cloud.use(() => null);
    cloud.setNode(SOURCE, change);
    await again();
    const shown = await until(SOURCE, state);
    assert.equal(shown.id, id);
    assert.match(String(shown.error), why);
    if (state === "FAILED") assert.deepEqual(cloud.told, []);
    await end();
    const note = join(folder, id, "switchover.json");
    writeFileSync(note, readFileSync(note, "utf8").replaceAll(SPARE, uuidOf(1, 12)));
    await assert.rejects(again(), /N2I-E113|switchover\.json was changed/);
    rmSync(join(folder, id, "run.json"));
    await assert.rejects(again(), /run\.json is missing/);
  }
});
