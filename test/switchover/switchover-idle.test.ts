import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/run/files/journal.ts";
import { isPastReturn, switchedIn } from "../../src/switchover/switchover-run.ts";
import { idle, numberedWrites } from "../support/faulty-service.ts";
import { back, CLAIMED, faults, forward, type Scene, scene } from "./scene.ts";
import { SPARE, switchedDump } from "./switch-memory.ts";

/** How often a call may come: each thrice, and two VIFs, or two steps, have calls alike. A BMC is asked for longer. */
const MOST = 6;
const MOST_POWER = 8;

function assertFew(call: string, came: number, what: string): void {
  const few = call.endsWith("/states/power") ? MOST_POWER : MOST;
  assert.ok(came >= 1 && came <= few, `${what}: it came ${came} times`);
}

async function isDone({ run }: Scene): Promise<boolean> {
  const switched = switchedIn((await readJournal(run)).entries);
  return switched !== null && isPastReturn(switched);
}

test("a switchover whose calls are accepted and change nothing ends after a few, and is rolled back or goes on later", async (t) => {
  const whole = await scene(t);
  const before = switchedDump(whole.cloud);
  await forward(whole);
  const all = numberedWrites(whole.cloud.calls);
  assert.ok(all.length > 25, String(all.length));
  for (const [call, nth] of all) {
    const at = await scene(t);
    const what = `${call}, ${nth}`;
    const came = idle(at.cloud, call, nth);
    const { halted, why } = await forward(at);
    assertFew(call, came(), what);
    // A machine that is off is asked to go off, and is.
    if (halted === null) assert.deepEqual([await faults(at), call.endsWith("power")], [[], true]);
    else if (/^(PATCH|DELETE|POST)|maintenance$/.test(call))
      assert.match(why, /was accepted 3 times without effect/, what);
    else assert.match(why, /node \S+ (is|failed)/, what);
    at.cloud.use(() => null);
    if (halted === null || (await isDone(at))) {
      assert.equal((await forward(at)).halted, null, what);
      assert.deepEqual(await faults(at), [], what);
    } else {
      assert.deepEqual(await back(at), [], what);
      assert.equal(switchedDump(at.cloud), before, what);
    }
    assert.ok(!at.cloud.told.some((one) => one.includes("twice")), what);
  }
});

test("a rollback whose calls are accepted and change nothing ends after a few, and names what is left", async (t) => {
  const whole = await scene(t);
  const before = switchedDump(whole.cloud);
  await forward(whole, { lines: CLAIMED });
  whole.cloud.calls.length = 0;
  await back(whole);
  const all = numberedWrites(whole.cloud.calls);
  assert.ok(all.length > 12, String(all.length));
  for (const [call, nth] of all) {
    const at = await scene(t);
    const what = `${call}, ${nth}`;
    await forward(at, { lines: CLAIMED });
    const came = idle(at.cloud, call, nth);
    const left = await back(at);
    assertFew(call, came(), what);
    // The spare is off, and is asked for that alone.
    const isNoWord = call === `PUT /v1/nodes/${SPARE}/states/power`;
    assert.equal(left.length > 0, !isNoWord, `${what}: ${left.join("; ")}`);
    at.cloud.use(() => null);
    assert.deepEqual(await back(at), [], what);
    assert.equal(switchedDump(at.cloud), before, what);
  }
});
