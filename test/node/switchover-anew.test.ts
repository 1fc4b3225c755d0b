import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { run } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { refuses, uuidOf } from "./in-memory.ts";
import { SOURCE, SPARE, type Switchable } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

const MANAGES = `PUT /v1/nodes/${SPARE}/states/provision`;

/** A run that stopped before its source was told anything, and whose spare somebody else has since. */
async function begun(
  t: TestContext,
  options: readonly string[],
  prepare: (cloud: Switchable, next: string) => void = () => undefined,
) {
  const { cloud, next, own } = await commandScene(t);
  prepare(cloud, next);
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

test("so are its document of what is identical, and what it said of connectors and of cinder", async (t) => {
  const doc = join(privateFolder(t), "identical.json");
  const format = "nova2ironic/identical@1";
  const fields = [{ field: "resource_class", as: "text" }];
  writeFileSync(doc, JSON.stringify({ format, source: "ours", fields }));
  const wwpn = uuidOf(6, 5);
  const all = ["--identical", doc, "--connector-policy", "move", "--storage-cinder-untested"];
  const { cloud, next, own } = await begun(t, all, ({ nodes, connectors }, other) => {
    for (const node of nodes.values()) node.storage_interface = "cinder";
    Object.assign(nodes.get(other) ?? {}, { properties: { capabilities: "iscsi_boot:True" } });
    const told = { type: "wwpn", connector_id: "wwn-1" };
    connectors.set(wwpn, { ...told, uuid: wwpn, node_uuid: SOURCE });
  });
  // The run has it: its file may be gone by then.
  rmSync(doc);
  const { status, err } = await run(["node", "switchover", SOURCE, ...own], cloud.how);
  assert.equal(status, 0, err);
  assert.equal(cloud.nodes.get(next)?.provision_state, "active");
  assert.equal(cloud.connectors.get(wwpn)?.node_uuid, next);
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
