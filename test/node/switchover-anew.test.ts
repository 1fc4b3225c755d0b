import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { run } from "../hostile/cli.ts";
import { refuses, uuidOf } from "./in-memory.ts";
import { SOURCE, SPARE } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

const MANAGES = `PUT /v1/nodes/${SPARE}/states/provision`;

/** A run that stopped before its source was told anything, and whose spare somebody else has since. */
async function begun(t: TestContext, options: readonly string[]) {
  const { cloud, next, own } = await commandScene(t);
  cloud.use((call) => (call === MANAGES ? { done: false, says: refuses(500, "broken") } : null));
  const ran = await run(["node", "switchover", "n-1", ...own, ...options], cloud.how);
  assert.equal(ran.status, 5, ran.err);
  cloud.use(() => null);
  Object.assign(cloud.nodes.get(SPARE) ?? {}, { instance_uuid: uuidOf(9, 77) });
  return { cloud, next, own };
}

test("the next spare is chosen by the words that the run began with", async (t) => {
  const { cloud, next, own } = await begun(t, ["--keep-source", "--keep-names"]);
  const { status, err } = await run(["node", "switchover", SOURCE, ...own], cloud.how);
  assert.equal(status, 0, err);
  const source = cloud.nodes.get(SOURCE) ?? {};
  assert.equal(source.provision_state, "active", "it is not torn down");
  assert.doesNotMatch(String(source.name), /failed/);
  assert.equal(cloud.nodes.get(next)?.provision_state, "active");
});

test("a source that has another instance by the time its spare is lost is left alone", async (t) => {
  const { cloud, next, own } = await begun(t, []);
  const other = uuidOf(9, 78);
  Object.assign(cloud.nodes.get(SOURCE) ?? {}, { instance_uuid: other, allocation_uuid: other });
  const { status, err } = await run(["node", "switchover", SOURCE, ...own], cloud.how);
  assert.notEqual(status, 0);
  assert.match(err, /N2I-E383 .*and had \S+ when its switchover was begun/);
  assert.deepEqual(cloud.told, []);
  assert.ok(!cloud.calls.some((call) => !call.startsWith("GET") && call.includes(next)));
});
