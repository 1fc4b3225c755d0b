import assert from "node:assert/strict";
import { test } from "node:test";
import { managedIn } from "../../src/manage/manage-run.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { type Ran, run, runs } from "../hostile/cli.ts";
import { type Fault, idle, numberedWrites } from "../support/faulty-service.ts";
import { dumped, type InMemory, uuidOf } from "./in-memory.ts";
import {
  back,
  backEnds,
  begun,
  forward,
  ID,
  scene as novaScene,
  type Scene,
  undone,
  withRun,
} from "./nova-ways.ts";
import { scene, serverOf, writes } from "./scene.ts";

const UNSEEN: Fault = { done: false, says: { status: 404, text: '{"error_message":"no"}' } };
const NO_SERVERS: Fault = { done: false, says: { status: 200, text: '{"servers":[]}' } };
const WHY = /node 1\S+1 is not visible in Ironic with these credentials: use the credentials/;

/** A login that sees no node, and no server where that is said. */
function hide({ cloud }: Scene, servers: boolean): void {
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
    hide(at, servers);
    await backEnds(at, WHY);
    assert.equal(at.cloud.dump(), was);
    assert.deepEqual(writes(at.cloud, from), []);
    assert.equal(managedIn((await readJournal(at.run)).entries).size, 1);
    at.cloud.use(() => null);
    await undone(at);
  });

test("an answer without the node says nothing of it, and one that shows none says so", async (t) => {
  const { cloud, hands } = await novaScene(t);
  for (const [says, message] of [
    [UNSEEN.says ?? null, /does not show node 1\S+1 to this login/],
    [{ status: 200, text: "{}" }, /answered GET \S+ without the node; is a proxy in between\?/],
  ] as const) {
    cloud.use(() => ({ done: false, says }));
    await assert.rejects(hands.hardware.read(ID), { code: "N2I-E212", message });
  }
});

test("a rollback skips a machine whose node it does not see, lists it, and writes nothing of it", async (t) => {
  const { cloud, at, before } = await scene(t, 2);
  const words = [...at, ...cloud.words];
  for (const one of [1, 2])
    await runs(0, ["node", "manage", `n-${one}`, `web-${one}`, ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes"];
  cloud.fail(/ .v1.nodes.1\S+1(\?|$)/, UNSEEN);
  for (let times = 1; times <= 2; times += 1) {
    cloud.calls.length = 0;
    const { out, err } = await runs(2, back, cloud.how);
    assert.match(out + err, WHY);
    assert.match((await runs(2, ["verify", ...words], cloud.how)).out, WHY);
    assert.match((await runs(0, [...back, "--plan"], cloud.how)).out, WHY);
    assert.match((await runs(0, ["status", ...at])).out, /1 rolled back/);
    assert.equal(writes(cloud).length > 0, times === 1);
  }
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});

/** A machine with a tenant's port, and traits that its record would write over. */
async function traited(t: Parameters<typeof scene>[0]) {
  const at = await scene(t);
  const info = { traits: ["CUSTOM_OLD"], image_source: "i" };
  Object.assign(at.cloud.nodes.get(uuidOf(1, 1)) ?? {}, { instance_info: info });
  const own = [...at.at, ...at.cloud.words];
  const goes = (way: string, ...words: readonly string[]): Promise<Ran> =>
    run(["node", way, "n-1", ...words, ...own], at.cloud.how);
  return {
    ...{ cloud: at.cloud, before: dumped(at.cloud), verify: ["verify", ...own] },
    manage: () => goes("manage", "web-1"),
    unmanage: () => goes("unmanage", "--yes"),
  };
}

/** The end of a record is asked for by a uuid that each run makes anew. */
const RECORD = "DELETE /v1/allocations/";
const ofRun = (call: string, cloud: InMemory): string =>
  call.startsWith(RECORD) ? `${RECORD}${serverOf(cloud)}` : call;

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
      const came = idle(at.cloud, ofRun(call, at.cloud), nth);
      const { status, out, err } = await at[way]();
      const what = `${way}: ${call}, ${nth}: ${out}${err}`;
      assert.ok(came() >= 1 && came() <= 3, what);
      assert.notEqual(status, 0, what);
      assert.match(out + err, /changed nothing|instance_uuid is|refused: 409/, what);
      at.cloud.use(() => null);
      assert.equal((await at[way]()).status, 0, what);
      if (way === "manage") await runs(0, at.verify, at.cloud.how);
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
  for (const [writes, isBack] of [
    [there, false],
    [home, true],
  ] as const)
    for (const [call, nth] of writes) {
      const own = await withRun(t, at);
      if (isBack) await forward(own);
      const came = idle(at.cloud, call, nth);
      const why = await (isBack ? back : forward)(own);
      const what = `${call}, ${nth}: ${why.join("; ")}`;
      assert.ok(why.length > 0 && came() >= 1 && came() <= 3, what);
      at.cloud.use(() => null);
      assert.deepEqual(await back(own), [], what);
      assert.equal(at.cloud.dump(), at.before, what);
    }
});
