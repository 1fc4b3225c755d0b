import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/run/files/journal.ts";
import { switchedIn } from "../../src/switchover/switchover-run.ts";
import { refuses } from "../manage/in-memory.ts";
import { BROKEN, writes } from "../manage/scene.ts";
import { instead, isWrite, numbered } from "../support/faulty-service.ts";
import { back, faults, forward, scene } from "./scene.ts";
import { SOURCE, SPARE, switchedDump } from "./switch-memory.ts";

/** The first call that has no way back is the second that brings the spare to another state. */
const PROVISION = `PUT /v1/nodes/${SPARE}/states/provision`;

test("B-13: a service that fails from any call before the deploy on leaves what a rollback gives back whole", async (t) => {
  const whole = await scene(t);
  const before = switchedDump(whole.cloud);
  whole.cloud.calls.length = 0;
  await forward(whole);
  const all = numbered(whole.cloud.calls);
  const deploy = all.findIndex(([call, nth]) => call === PROVISION && nth === 2);
  // Of questions that are put again and again, the first.
  const chosen = all.slice(0, deploy).filter(([call, nth]) => isWrite(call) || nth === 1);
  assert.ok(chosen.length > 25, String(chosen.length));
  for (const [call, nth] of chosen) {
    const at = await scene(t);
    let heard = 0;
    at.cloud.use((made) => {
      if (made === call) heard += 1;
      return made === call && heard >= nth ? { done: false, says: refuses(500, "broken") } : null;
    });
    const what = `${call}, ${nth}`;
    // What breaks ends the process that acts.
    await forward(at).catch(() => undefined);
    assert.ok(heard >= nth, what);
    at.cloud.use(() => null);
    assert.deepEqual(await back(at), [], what);
    assert.equal(switchedDump(at.cloud), before, what);
    assert.equal(switchedIn((await readJournal(at.run)).entries), null, what);
  }
});

test("a service that fails once at any call that changes something is asked again, and nothing is done twice", async (t) => {
  const whole = await scene(t);
  await forward(whole);
  const end = switchedDump(whole.cloud);
  const changes = writes(whole.cloud).length;
  for (let k = 1; k <= changes; k += 1) {
    const at = await scene(t);
    // It is done all the same.
    at.cloud.fail(isWrite, { done: true, says: refuses(500, "broken") }, k);
    const what = `call ${k}`;
    assert.equal((await forward(at)).halted, null, what);
    assert.deepEqual(await faults(at), [], what);
    assert.equal(switchedDump(at.cloud), end, what);
    assert.deepEqual(at.cloud.told, ["n-1 soft", "n-1 on"], what);
  }
});

test("of two reads that fail the first in their order is told, whichever fails first", async (t) => {
  const at = await scene(t);
  assert.equal((await forward(at)).halted, null);
  at.cloud.use((call) => {
    // It is put again and again before it is given up; the other is not.
    if (call === `GET /v1/nodes/${SOURCE}`) return BROKEN;
    return call.endsWith("/validate") ? instead(200, []) : null;
  });
  await assert.rejects(faults(at), { code: "N2I-E210" });
});

test("B-12: a spare whose power nobody knows is powered off before anything is moved to it", async (t) => {
  const at = await scene(t);
  at.cloud.setNode(SPARE, { provision_state: "manageable", power_state: null });
  assert.equal((await forward(at)).halted, null);
  const { calls } = at.cloud;
  const off = calls.indexOf(`PUT /v1/nodes/${SPARE}/states/power`);
  const moved = calls.findIndex((call) => call.startsWith("PATCH /v1/volume/"));
  assert.ok(off >= 0 && off < moved, `${off} ${moved}`);
});
