import assert from "node:assert/strict";
import { test } from "node:test";

import { type Fault, instead, isWrite } from "../support/faulty-service.ts";
import { uuidOf } from "./in-memory.ts";
import { back, forward, type Scene, scene, withRun } from "./nova-ways.ts";
import { BROKEN, LOST, REFUSED } from "./scene.ts";

const FAILED = instead(500, { error_message: "a fault" });

/** Of a way there, at the least: whoever makes fewer does not come to its end. */
const LEAST = { calls: 69, writes: 13 };

/** Fails the `nth` call, once; of questions an answer that is lost is as good as none. */
function failAt({ cloud }: Scene, nth: number, fault: Fault): () => boolean {
  const came = cloud.fail(fault === LOST ? isWrite : /./, fault, nth);
  return () => came() >= nth;
}

/** What passes is one fault to who asks, broken or failed: each call meets one of them. */
const PASSING = (nth: number): Fault => (nth % 2 === 0 ? BROKEN : FAILED);

for (const [what, fault] of [
  ["its answer is lost", LOST],
  ["it is refused", REFUSED],
] as const)
  test(`C-8: any call that fails leaves a machine as it was, or with its server: ${what}`, async (t) => {
    // Off in Ironic's book once it is deployed: Nova stops its server and starts it, too.
    const at = await scene(t, { forgets: true });
    let most = 0;
    for (let nth = 1, came = true; came; nth += 1) {
      most = nth;
      const own = await withRun(t, at);
      const hasCome = failAt(at, nth, fault);
      const why: string[] = [];
      await forward(own).then(
        (all) => why.push(...all),
        (cause: unknown) => why.push(String(cause)),
      );
      came = hasCome();
      const called = `${String(nth)}: ${String(at.cloud.calls.at(-1))}: ${why.join()}`;
      at.cloud.use(() => null);
      const { node, servers } = at.cloud;
      if (why.length === 0)
        assert.deepEqual([node.driver, node.maintenance, servers.size], ["ipmi", false, 1], called);
      else assert.ok(node.driver === "ipmi" || node.maintenance === true, called);
      assert.deepEqual(await back(own), [], called);
      assert.equal(at.cloud.dump(), at.before, called);
    }
    t.diagnostic(`${most - 1} calls`);
    assert.ok(most > LEAST[fault === LOST ? "writes" : "calls"], `${most - 1} calls`);
    assert.deepEqual(at.cloud.heard, []);
  });

test("any call of its way back that fails is made up for by the next, and the machine hears nothing", async (t) => {
  const at = await scene(t);
  for (let nth = 1, came = true; came; nth += 1) {
    const own = await withRun(t, at);
    await forward(own);
    const hasCome = failAt(at, nth, PASSING(nth));
    await back(own).catch(() => undefined);
    came = hasCome();
    at.cloud.use(() => null);
    const { node } = at.cloud;
    assert.ok(node.driver === "ipmi" || node.maintenance === true, String(nth));
    assert.deepEqual(await back(own), [], String(nth));
    assert.equal(at.cloud.dump(), at.before, String(nth));
  }
  assert.deepEqual(at.cloud.heard, []);
});

test("what stood in instance_info and is lost in the exchange keeps its machine on fake hardware", async (t) => {
  const at = await scene(t);
  let swaps = false;
  at.cloud.use((call) => {
    // Somebody clears it as soon as the change back was heard.
    if (swaps) at.cloud.node.instance_info = { image_source: uuidOf(5, 1) };
    swaps = call.startsWith("PATCH") && !call.includes("reset") && at.cloud.servers.size > 0;
  });
  assert.match((await forward(at)).join(), /instance_info.root_gb is not as it was/);
  assert.equal(at.cloud.node.maintenance, true);
});
