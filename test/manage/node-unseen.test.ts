import assert from "node:assert/strict";
import { test } from "node:test";
import { managedIn } from "../../src/manage/manage-run.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { runs } from "../hostile/cli.ts";
import type { Fault } from "../support/faulty-service.ts";
import { dumped } from "./in-memory.ts";
import { back, begun, ID, scene as novaScene, type Scene } from "./nova-ways.ts";
import { scene, writes } from "./scene.ts";

const UNSEEN: Fault = { done: false, says: { status: 404, text: '{"error_message":"no"}' } };
const NO_SERVERS: Fault = { done: false, says: { status: 200, text: '{"servers":[]}' } };
const WHY = /Ironic does not show node 1\S+1 to this login: use the login/;

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
    assert.match((await back(at)).join(), WHY);
    assert.equal(at.cloud.dump(), was);
    assert.deepEqual(writes(at.cloud, from), []);
    assert.equal(managedIn((await readJournal(at.run)).entries).size, 1);
    at.cloud.use(() => null);
    assert.deepEqual(await back(at), []);
    assert.equal(at.cloud.dump(), at.before);
    assert.deepEqual(at.cloud.heard, []);
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
    assert.match((await runs(0, ["status", ...at])).out, /1 taken back/);
    assert.equal(writes(cloud).length > 0, times === 1);
  }
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});
