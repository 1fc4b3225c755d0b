import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { DENIED, writes } from "../manage/scene.ts";
import { forward, hurried, scene } from "./scene.ts";
import { addPair, SOURCE, SPARE, switchable, switchedDump } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

test("the preview has each step with its call, and every difference of a spare that is named", async (t) => {
  const { cloud, how, path, own } = await commandScene(t);
  const { out } = await runs(0, ["node", "switchover", "n-1", "s-1", ...own, "--dry-run"], how);
  assert.match(out, /^\|? *Step +\| Call +\| Before +\| After/im);
  for (const state of ["DST_MANAGEABLE", "SRC_OFF", "SRC_MAINT", "VOLUMES", "DST_ACTIVE", "DONE"])
    assert.match(out, new RegExp(`\\b${state}\\b`));
  const other = { cpus: 8, memory_mb: 16_384, capabilities: "iscsi_boot:True" };
  cloud.setNode(SPARE, { properties: other, resource_class: "silver" });
  const differs = await runs(4, ["node", "switchover", "n-1", "s-1", ...own, "--dry-run"], how);
  for (const [field, both] of Object.entries({
    ...{ resource_class: "gold +\\| silver", "properties\\.cpus": "4 +\\| 8" },
    "properties\\.memory_mb": "8192 +\\| 16384",
  }))
    assert.match(differs.out, new RegExp(`${field} +\\| ${both}`));
  assert.deepEqual([writes(cloud), existsSync(path)], [[], false]);
});

test("a login that may not is told so with 12, and everything is as it was", async (t) => {
  for (const [call, told] of [
    [`PATCH /v1/nodes/${SOURCE}`, []],
    [`PUT /v1/nodes/${SPARE}/states/provision`, []],
    [`PATCH /v1/volume/targets/${uuidOf(5, 1)}`, ["n-1 soft", "n-1 on"]],
  ] as const) {
    const { cloud, how, own, before } = await commandScene(t);
    cloud.fail(call, DENIED);
    const ran = await runs(12, ["node", "switchover", "n-1", "s-1", ...own], how);
    assert.match(ran.err, /^ERROR N2I-E211 .*not today/m, call);
    assert.equal(switchedDump(cloud), before, call);
    assert.deepEqual(cloud.told, told, call);
  }
});

test("a source that has a volume target again is not torn down", async (t) => {
  const at = await scene(t);
  await forward(at, { until: "switchover-clear" });
  const added = uuidOf(5, 9);
  const like = at.cloud.targets.get(uuidOf(5, 1)) ?? {};
  at.cloud.targets.set(added, { ...like, uuid: added, node_uuid: SOURCE, volume_id: "v-9" });
  assert.match((await forward(at)).why, new RegExp(`has volume targets: ${added}`));
  assert.equal(at.cloud.nodes.get(SOURCE)?.provision_state, "active");
  at.cloud.targets.delete(added);
  assert.equal((await forward(at)).halted, null);
});

test("an Ironic without automated_clean is refused by its microversion", async (t) => {
  hurried(t);
  const cloud = await switchable(t, 46);
  addPair(cloud);
  const words = ["--run", join(privateFolder(t), "o1"), ...cloud.words];
  const ran = await run(["node", "switchover", "n-1", "s-1", ...words], cloud.how);
  assertRefusal({ ...ran, out: "" }, ran.status, "N2I-E209", /up to 1\.46, .* needs 1\.47/);
  assert.notEqual(ran.status, 0);
  assert.deepEqual(writes(cloud), []);
});

test("a source that is deleted amid it stops it halfway, and a rollback names it and frees the spare", async (t) => {
  const { cloud, how, path, own } = await commandScene(t);
  cloud.once(`PUT /v1/nodes/${SOURCE}/maintenance`, () => cloud.nodes.delete(SOURCE));
  const ran = await runs(5, ["node", "switchover", "n-1", "s-1", ...own], how);
  assert.match(ran.err, new RegExp(`N2I-E301 .*Ironic no longer has node ${SOURCE}`));
  const back = await run(["rollback", "--run", path, ...cloud.words, "--all", "--yes"], how);
  assert.match(back.out + back.err, new RegExp(`${SOURCE}`));
  assert.notEqual(back.status, 0, "it has changed");
  assert.deepEqual([cloud.told, cloud.nodes.get(SPARE)?.instance_uuid], [["n-1 soft"], null]);
});

test("an allocation that cannot be made again is told with what is wrong, and how to go on", async (t) => {
  const at = await scene(t);
  await forward(at, { until: "switchover-allocation" });
  const uuid = uuidOf(9, 1);
  at.cloud.allocations.set(uuid, { uuid, state: "error", node_uuid: null, last_error: "class" });
  const { why } = await forward(at);
  assert.match(why, new RegExp(`${uuid} is error of node none: class; remove it first: `));
  assert.match(why, new RegExp(`baremetal allocation delete ${uuid}`));
  at.cloud.allocations.delete(uuid);
  assert.equal((await forward(at)).halted, null);
});
