import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { idle, instead, numberedWrites } from "../support/faulty-service.ts";
import { dumped } from "./in-memory.ts";
import { backEnds, undone } from "./nova-expect.ts";
import { ID, type NovaInMemory } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, scene as novaScene, withRun } from "./nova-ways.ts";
import { scene, writes } from "./scene.ts";

const UNSEEN = instead(404, { error_message: "no" });
const NO_SERVERS = instead(200, { servers: [] });
const WHY = /node 1\S+1 is not visible in Ironic with these credentials: use the credentials/;

/** A login that sees no node, and no server where that is said. */
function hide(cloud: NovaInMemory, servers: boolean): void {
  cloud.use((call) => {
    if (servers && call.startsWith("GET /servers"))
      return call.startsWith("GET /servers/detail") ? NO_SERVERS : UNSEEN;
    return / .v1.nodes.1/.test(call) ? UNSEEN : null;
  });
}

for (const [what, lines, servers] of [
  ["a finished run, and no server is seen either", undefined, true],
  ["a death on fake hardware", 5, false],
  ["a death on fake hardware with its server, which is not seen either", 8, true],
  ["a death before its driver was exchanged", 2, false],
] as const)
  test(`a way back that does not see its node is not at its end: ${what}`, async (t) => {
    const at = await begun(t, lines);
    const [was, from] = [at.cloud.dump(), at.cloud.calls.length];
    hide(at.cloud, servers);
    await backEnds(at, WHY);
    assert.equal(at.cloud.dump(), was);
    assert.deepEqual(writes(at.cloud, from), []);
    assert.equal((await machinesOf(at)).size, 1);
    at.cloud.use(() => null);
    await undone(at);
  });

test("an answer without the node says nothing of it, and one that shows none says so", async (t) => {
  const { cloud, hands } = await novaScene(t);
  for (const [fault, message] of [
    [UNSEEN, /does not show node 1\S+1 with these credentials$/],
    [instead(200), /answered GET \S+ without the node; is a proxy in between\?/],
  ] as const) {
    cloud.use(() => fault);
    await assert.rejects(hands.hardware.read(ID), { code: "N2I-E212", message });
  }
});

test("a rollback skips a machine whose node it does not see, lists it, and writes nothing of it", async (t) => {
  const { cloud, at, does, manages, undone: isUndone } = await scene(t, 2);
  for (const nth of [1, 2]) await manages(nth);
  const back = ["rollback", "--all", "--yes"];
  cloud.fail(/ .v1.nodes.1\S+1(\?|$)/, UNSEEN);
  for (let times = 1; times <= 2; times += 1) {
    cloud.calls.length = 0;
    const { out, err } = await does(2, ...back);
    assert.match(out + err, WHY);
    assert.match((await does(2, "verify")).out, WHY);
    assert.match((await does(0, ...back, "--plan")).out, WHY);
    assert.match((await runs(0, ["status", ...at])).out, /1 rolled back/);
    assert.equal(writes(cloud).length > 0, times === 1);
  }
  cloud.use(() => null);
  await isUndone();
});

/** A machine with a tenant's port, and traits that its record would write over. */
async function traited(t: TestContext) {
  const { cloud, does, tries, ...at } = await scene(t);
  at.node().instance_info = { traits: ["CUSTOM_OLD"], image_source: "i" };
  return {
    ...{ cloud, does, server: at.server, before: dumped(cloud) },
    manage: () => tries("node", "manage", "n-1", "web-1"),
    unmanage: () => tries("node", "unmanage", "n-1", "--yes"),
  };
}

/** The end of a record is asked for by a uuid that each run makes anew. */
const RECORD = "DELETE /v1/allocations/";
test("no write of node manage, nor of node unmanage, that is answered with 200 and not made counts as made", async (t) => {
  const whole = await traited(t);
  await whole.manage();
  const there = numberedWrites(whole.cloud.calls.splice(0));
  await whole.unmanage();
  const ways = [
    ["manage", there],
    ["unmanage", numberedWrites(whole.cloud.calls.splice(0))],
  ] as const;
  for (const [way, calls] of ways)
    for (const [call, nth] of calls) {
      const at = await traited(t);
      if (way === "unmanage") await at.manage();
      const ofRun = call.startsWith(RECORD) ? RECORD + at.server() : call;
      const came = idle(at.cloud, ofRun, nth);
      const { status, out, err } = await at[way]();
      const what = `${way}: ${call}, ${nth}: ${out}${err}`;
      assert.ok(came() >= 1 && came() <= 3, what);
      assert.notEqual(status, 0, what);
      assert.match(out + err, /without effect|instance_uuid is|refused: 409/, what);
      at.cloud.use(() => null);
      assert.equal((await at[way]()).status, 0, what);
      if (way === "manage") await at.does(0, "verify");
      if (way === "manage") assert.equal((await at.unmanage()).status, 0, what);
      assert.equal(dumped(at.cloud), at.before, what);
    }
});

test("no write of node manage --nova, nor of its rollback, that is answered with 200 and not made counts as made", async (t) => {
  const at = await novaScene(t);
  await forward(at);
  const there = numberedWrites(at.cloud.calls.splice(0));
  await back(at);
  const home = numberedWrites(at.cloud.calls.splice(0));
  assert.ok(there.length > 10 && home.length > 10);
  for (const [calls, isBack] of [
    [there, false],
    [home, true],
  ] as const)
    for (const [call, nth] of calls) {
      const own = await withRun(t, at);
      if (isBack) await forward(own);
      const came = idle(at.cloud, call, nth);
      const why = await (isBack ? back : forward)(own);
      const what = `${call}, ${nth}: ${why.join("; ")}`;
      assert.ok(why.length > 0 && came() >= 1 && came() <= 3, what);
      at.cloud.use(() => null);
      await undone(own, what);
    }
});
