import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ran, run, runs } from "../hostile/cli.ts";
import { idle, numberedWrites } from "../support/faulty-service.ts";
import { dumped, type InMemory, uuidOf } from "./in-memory.ts";
import { back, forward, scene as novaScene, withRun } from "./nova-ways.ts";
import { scene, serverOf } from "./scene.ts";

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
  assert.deepEqual(at.cloud.heard, []);
});
