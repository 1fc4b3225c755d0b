import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/edge/disk/journal.ts";
import { managedIn } from "../../src/stages/manage-run.ts";
import { during } from "../engine/on-journal.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import type { Fault } from "../support/faulty-service.ts";
import { dumped, uuidOf } from "./in-memory.ts";
import { back, deleted, forward, ID, scene as novaScene, type Scene } from "./nova-ways.ts";
import { scene, writes } from "./scene.ts";

const UNSEEN: Fault = { done: false, says: { status: 404, text: '{"error_message":"no"}' } };
const NO_SERVERS: Fault = { done: false, says: { status: 200, text: '{"servers":[]}' } };
const WHY = /Ironic does not show node 1\S+1 to this login.*pass --node-deleted 1\S+1/;

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
    const at = await novaScene(t);
    const before = at.cloud.dump();
    const run = await at.run();
    await during(run, (session) => forward(at, session), lines);
    const [was, from] = [at.cloud.dump(), at.cloud.calls.length];
    hide(at, servers);
    await during(run, async (session) => assert.match((await back(at, session)).join(), WHY));
    assert.equal(at.cloud.dump(), was);
    assert.ok(at.cloud.calls.slice(from).every((call) => call.startsWith("GET ")));
    assert.equal(managedIn((await readJournal(run)).entries).size, 1);
    at.cloud.use(() => null);
    await during(run, async (session) => assert.deepEqual(await back(at, session), []));
    assert.equal(at.cloud.dump(), before);
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

test("a node that was deleted while Nova still has its server keeps the run open until that is deleted", async (t) => {
  const at = await novaScene(t);
  const run = await at.run();
  await during(run, (session) => forward(at, session));
  hide(at, false);
  await during(run, async (session) => {
    await deleted(session);
    assert.match((await back(at, session)).join(), /server 8\S+ is still in Nova: delete it there/);
  });
  assert.equal(at.cloud.servers.size, 1);
  at.cloud.servers.clear();
  await during(run, async (session) => assert.deepEqual(await back(at, session), []));
  assert.equal(managedIn((await readJournal(run)).entries).size, 0);
});

test("a node that is shown after all is taken back, whatever was said of it, and is not skipped later", async (t) => {
  const at = await novaScene(t);
  const before = at.cloud.dump();
  const run = await at.run();
  await during(run, (session) => forward(at, session), 5);
  await during(run, async (session) => {
    await deleted(session);
    assert.deepEqual(await forward(at, session), []);
  });
  hide(at, true);
  await during(run, async (session) => assert.match((await back(at, session)).join(), WHY));
  at.cloud.use(() => null);
  await during(run, async (session) => {
    await deleted(session);
    assert.deepEqual(await back(at, session), []);
  });
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(at.cloud.heard, []);
});

test("a node that was deleted ends a way back by the operator's word, never by its own", async (t) => {
  const { cloud, at, before } = await scene(t, 2);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes"];
  const said = [...back, "--node-deleted", ID.toUpperCase()];
  assertRefusal(await run(said, cloud.how), 64, "N2I-E100", /--node-deleted: Ironic has node 1/);
  const other = [...back, "--node-deleted", uuidOf(1, 2)];
  assertRefusal(await run(other, cloud.how), 64, "N2I-E100", /no machine named here is node 1\S+2/);
  cloud.use((call) => (/ .v1.nodes.1\S+1(\?|$)/.test(call) ? UNSEEN : null));
  cloud.calls.length = 0;
  for (let times = 1; times <= 2; times += 1) {
    const { out, err } = await runs(2, back, cloud.how);
    assert.match(out + err, WHY);
    assert.match((await runs(2, ["verify", ...words], cloud.how)).out, WHY);
    assert.match((await runs(0, [...back, "--plan"], cloud.how)).out, WHY);
    assert.match((await runs(0, ["status", ...at])).out, /0 taken back/);
  }
  assert.deepEqual([writes(cloud), dumped(cloud) === before], [[], false]);
  // Neither node nor record is there, as Ironic deletes both at once.
  cloud.allocations.clear();
  const ended = await runs(0, said, cloud.how);
  assert.match(ended.err, /Node 1\S+1: you said it was deleted; at most its ports are given back/);
  assert.match((await runs(0, ["status", ...at])).out, /1 taken back/);
});

test("the word that a node was deleted is over once Ironic shows it to a way back", async (t) => {
  const { cloud, at, before } = await scene(t);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes"];
  const blind = (call: string): Fault | null =>
    / .v1.nodes.1\S+1(\?|$)/.test(call) ? UNSEEN : null;
  const gone = { done: false, says: { status: 404, text: "{}" } } as const;
  const broken = { done: false, says: { status: 400, text: "{}" } } as const;
  // By a login that sees neither node nor record it is said, and Neutron does not answer.
  cloud.use((call) =>
    call.startsWith("PUT /v2.0") ? broken : call.includes("/v1/allocations/") ? gone : blind(call),
  );
  assert.notEqual((await run([...back, "--node-deleted", ID], cloud.how)).status, 0);
  // One that sees it begins to take it back, and stops.
  cloud.use((call) => (call.startsWith("DELETE /v1/allocations") ? broken : null));
  assert.match(
    (await runs(2, back, cloud.how)).err,
    /you said it was deleted, and Ironic shows it/,
  );
  cloud.use((call) => (call.includes("/v1/allocations/") ? gone : blind(call)));
  const { out, err } = await runs(2, back, cloud.how);
  assert.match(out + err, WHY);
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});
