import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Fault, instead, isWrite } from "../support/faulty-service.ts";
import { uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, serverIn, undone } from "./nova-expect.ts";
import { HIDDEN, type NovaInMemory, OWN } from "./nova-memory.ts";
import { back, begun, forward, type Scene, scene, withRun } from "./nova-ways.ts";
import { BROKEN, LOST, REFUSED } from "./scene.ts";

const COPY = uuidOf(6, 1);
const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";
/** Lines of a way there until Nova was asked for its server, and the server's uuid not known. */
const ASKED = 6;

/** Somebody's server, made of ours with its metadata, and listed before it. */
function copied({ servers }: NovaInMemory, fields: JsonObject): void {
  const ours = [...servers.values()].filter(({ id }) => id !== COPY);
  servers.clear();
  const copy = {
    ...{ id: COPY, name: "theirs", status: "ACTIVE", "OS-EXT-STS:task_state": null },
    ...{ metadata: { nova2ironic_manage: OWN }, [NODE]: uuidOf(1, 9), fault: {} },
  };
  servers.set(COPY, { ...copy, ...fields });
  for (const one of ours) servers.set(String(one.id), one);
}

const deleted = ({ calls }: NovaInMemory): readonly string[] =>
  calls.filter((call) => call === `DELETE /servers/${COPY}` || call.includes(`${COPY}/action`));

async function besideCopy(t: TestContext, lines: number | undefined, fields: JsonObject) {
  const at = await begun(t, lines);
  copied(at.cloud, fields);
  return { at, why: (await back(at)).join() };
}

for (const lines of [undefined, ASKED])
  for (const status of ["ACTIVE", "SHUTOFF", "ERROR", "BUILD"])
    test(`a server of another node with the same metadata is nobody's to delete: ${status}, ${lines ?? "all"} lines`, async (t) => {
      const { at, why } = await besideCopy(t, lines, { status });
      assert.equal(why, "");
      assert.deepEqual([[...at.cloud.servers.keys()], deleted(at.cloud)], [[COPY], []]);
      at.cloud.servers.clear();
      assert.equal(at.cloud.dump(), at.before);
    });

for (const status of ["ACTIVE", "SHUTOFF", "SOFT_DELETED", "ERROR", "BUILD"])
  test(`a server with the same metadata whose node this login does not see is left, and named: ${status}`, async (t) => {
    const { at, why } = await besideCopy(t, undefined, { status, [NODE]: HIDDEN });
    assert.match(
      why,
      /server 6\S+1 .*its node is not visible with these credentials: use .*If the server is a copy, remove/,
    );
    assert.match(why, /it remains on fake hardware and in maintenance/);
    assert.deepEqual([[...at.cloud.servers.keys()], deleted(at.cloud)], [[COPY], []]);
  });

test("its own server is known by Ironic's instance where this login does not see its node", async (t) => {
  const at = await begun(t, ASKED);
  serverIn(at.cloud)[NODE] = null;
  await undone(at);
});

test("its own server that is on another node by now is left, and named", async (t) => {
  const at = await begun(t);
  serverIn(at.cloud)[NODE] = uuidOf(1, 9);
  await backEnds(at, /server 8\S+ is now on node 1\S+9/);
  assert.equal(at.cloud.servers.size, 1);
});

test("a server of a call that came late is told of, and its rollback ends it", async (t) => {
  const at = await scene(t);
  let posts = 0;
  at.cloud.use((call) => {
    if (call !== "POST /servers") return null;
    posts += 1;
    if (posts === 1) return instead(504, "gateway");
    copied(at.cloud, { status: "ERROR", [NODE]: null });
    return null;
  });
  assert.deepEqual(await forward(at), [
    `Nova also created server ${COPY}, in ERROR, without a node: delete it`,
  ]);
  assert.equal(at.cloud.servers.size, 2);
  await undone(at);
});

test("a run that goes on takes nobody's copy for its own server", async (t) => {
  const at = await scene(t);
  // It dies before Nova is asked, and its word is copied all the same.
  at.cloud.fail("POST /servers", BROKEN);
  await assert.rejects(forward(at));
  at.cloud.use(() => null);
  copied(at.cloud, {});
  assert.deepEqual(await forward(at), []);
  assert.equal(at.cloud.servers.size, 2);
  assert.notEqual(at.cloud.node.instance_uuid, COPY);
  assert.deepEqual(await back(at), []);
  assert.deepEqual([...at.cloud.servers.keys()], [COPY]);
  at.cloud.servers.clear();
  assert.equal(at.cloud.dump(), at.before);
});

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
  test(`C-8: after each failed call a machine is unchanged or has its server: ${what}`, async (t) => {
    // Off in Ironic's book once it is deployed: Nova stops its server and starts it, too.
    const at = await scene(t, { forgets: true });
    let most = 0;
    for (let nth = 1, came = true; came; nth += 1) {
      most = nth;
      const own = await withRun(t, at);
      const hasCome = failAt(at, nth, fault);
      const why = await forward(own).catch((cause: unknown) => [String(cause)]);
      came = hasCome();
      const called = `${String(nth)}: ${String(at.cloud.calls.at(-1))}: ${why.join()}`;
      at.cloud.use(() => null);
      const { node } = at.cloud;
      if (why.length === 0) assertIs(at, "ipmi", false, 1);
      else assert.ok(node.driver === "ipmi" || node.maintenance === true, called);
      await undone(own, called);
    }
    t.diagnostic(`${most - 1} calls`);
    assert.ok(most > LEAST[fault === LOST ? "writes" : "calls"], `${most - 1} calls`);
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
    await undone(own, String(nth));
  }
});

test("what stood in instance_info and is lost in the exchange keeps its machine on fake hardware", async (t) => {
  const at = await scene(t);
  let swaps = false;
  at.cloud.use((call) => {
    // Somebody clears it as soon as the change back was heard.
    if (swaps) at.cloud.node.instance_info = { image_source: uuidOf(5, 1) };
    swaps = call.startsWith("PATCH") && !call.includes("reset") && at.cloud.servers.size > 0;
  });
  await forwardEnds(at, /instance_info.root_gb has changed/);
  assert.equal(at.cloud.node.maintenance, true);
});
