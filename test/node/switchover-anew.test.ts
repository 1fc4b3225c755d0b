import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { run, runs } from "../hostile/cli.ts";
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

const LOOKS = `GET /v1/nodes/${SPARE}`;
const MARKS = `PATCH /v1/nodes/${SPARE}`;

/** The spare is deleted at the first call of these, with what hangs on it. */
function deleted(cloud: Switchable, at: (call: string) => boolean): void {
  cloud.use((call) => {
    if (!cloud.nodes.has(SPARE) || !at(call)) return null;
    cloud.nodes.delete(SPARE);
    for (const kept of [cloud.ports, cloud.targets, cloud.connectors])
      for (const [uuid, one] of kept) if (one.node_uuid === SPARE) kept.delete(uuid);
    return null;
  });
}

/** Moments at which a spare may go before the source is told to power off. */
const EARLY: readonly (readonly [what: string, moment: () => (call: string) => boolean])[] = [
  ["before it is marked", () => (call) => call === MARKS],
  ["as it is to be managed", () => (call) => call === MANAGES],
  [
    "once it is managed",
    () => {
      let isManaged = false;
      return (call) => {
        isManaged ||= call === MANAGES;
        return isManaged && call === LOOKS;
      };
    },
  ],
];

test("a spare that somebody deletes before the source is told to power off is lost like any other", async (t) => {
  for (const [what, moment] of EARLY) {
    const { cloud, how, next, own } = await commandScene(t);
    deleted(cloud, moment());
    const ran = await run(["node", "switchover", "n-1", ...own], how);
    assert.equal(ran.status, 0, `${what}: ${ran.err}`);
    assert.match(ran.err, /node \S+ \(s-1\) is gone: somebody deleted it: the next spare is tried/);
    assert.match(ran.out, new RegExp(`runs on ${next} \\(n-1\\)`), what);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], what);
  }
});

test("one that was named is refused by its name, and the source is as it was", async (t) => {
  for (const [what, moment] of EARLY) {
    const { cloud, how, next, path, own } = await commandScene(t);
    const before = structuredClone(cloud.nodes.get(SOURCE));
    deleted(cloud, moment());
    const ran = await run(["node", "switchover", "n-1", "s-1", ...own], how);
    assert.equal(ran.status, 4, `${what}: ${ran.err}`);
    assert.match(ran.err, /N2I-E384 node \S+ \(s-1\) is gone: somebody deleted it/, what);
    assert.deepEqual([cloud.nodes.get(SOURCE), cloud.told], [before, []], what);
    assert.match((await runs(0, ["status", "--run", path])).out, /ROLLED_BACK/, what);
    // The run begins anew with another.
    const { out } = await runs(0, ["node", "switchover", "n-1", "t-1", ...own], how);
    assert.match(out, new RegExp(`runs on ${next} `), what);
  }
});

test("once the source is off, a spare that is deleted gives everything back, or says which volumes went with it", async (t) => {
  for (const options of [[], ["s-1"]]) {
    const { cloud, how, next, own } = await commandScene(t);
    const isOn = options.length > 0;
    // One that was on is not to be powered on again.
    if (isOn)
      Object.assign(cloud.nodes.get(SPARE) ?? {}, {
        ...{ provision_state: "manageable", power_state: "power on" },
      });
    Object.assign(cloud.machines.get(SPARE) ?? {}, { on: isOn });
    deleted(cloud, (call) => call === `PUT /v1/nodes/${SOURCE}/maintenance`);
    const ran = await run(["node", "switchover", "n-1", ...options, ...own], how);
    assert.equal(ran.status, 1, ran.err);
    assert.match(ran.err, /N2I-E389 node \S+ \(s-1\) is gone: somebody deleted it/);
    const source = cloud.nodes.get(SOURCE);
    assert.deepEqual(
      [source?.power_state, source?.maintenance, source?.extra, source?.instance_uuid],
      ["power on", false, { "a/b~": 1, rack: 7 }, uuidOf(9, 1)],
    );
    assert.ok(!cloud.calls.some((call) => !call.startsWith("GET") && call.includes(next)));
    assert.deepEqual(cloud.told, [...(isOn ? ["s-1 off"] : []), "n-1 soft", "n-1 on"]);
  }

  const late = await commandScene(t);
  const { cloud, how, own } = late;
  deleted(cloud, (call) => call === LOOKS && cloud.nodes.get(SPARE)?.name === "n-1");
  const ran = await run(["node", "switchover", "n-1", "s-1", ...own], how);
  assert.equal(ran.status, 5, ran.err);
  const lost = `N2I-E301 .*is gone: somebody deleted it; not taken back: volume target ${uuidOf(5, 1)} is gone`;
  assert.match(ran.err, new RegExp(lost));
  assert.match(ran.err, /Settle what is named, then: nova2ironic rollback /);
  assert.doesNotMatch(
    ran.err,
    new RegExp(`node ${SPARE} is gone`),
    "nothing of it is to be given back",
  );
  assert.deepEqual(
    [cloud.nodes.get(SOURCE)?.maintenance, cloud.told],
    [true, ["n-1 soft"]],
    "and the source stays off",
  );
});
