import assert from "node:assert/strict";
import { test } from "node:test";
import { takenOverText } from "../../../src/cli/views/verify.ts";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import { missingKeys, noStates, observe } from "../../../src/window/handover/rules/observe.ts";
import { ironic } from "./world.ts";

const { releases } = await loadMappings();
const ACTIVE = { provision_state: "active", maintenance: false };
const IMAGE = ["instance_info.image_source"];
const KILO = ["instance_info.root_gb", "driver_info.deploy_kernel", "driver_info.deploy_ramdisk"];
const JUNO = KILO.map((name) => name.replace(".deploy_", ".pxe_deploy_"));
const ROOT = ["driver_internal_info.root_uuid_or_disk_id"];

function lacks(release: string, row = {}, root: string | null = null, held: string[] = []) {
  const known = releases.find(({ doc }) => doc.release === release);
  assert.ok(known);
  return missingKeys(known.doc, { ...ACTIVE, ...row }, root, new Set(held));
}

test("what a takeover needs is what the release's takeover reads", () => {
  assert.deepEqual(lacks("juno"), [...IMAGE, ...JUNO, "root_uuid (juno keeps none)"]);
  assert.deepEqual(lacks("juno", {}, "c0"), [...IMAGE, ...JUNO]);
  assert.deepEqual(lacks("kilo"), [...IMAGE, ...KILO, ...ROOT]);
  assert.deepEqual(lacks("newton"), [...IMAGE, ...ROOT]);
  assert.deepEqual(lacks("yoga", {}, "c0", IMAGE), ROOT);
  assert.deepEqual(lacks("2023.1"), []);
});

test("who boots from its disk needs no root filesystem, who boots as a ramdisk needs what it boots", () => {
  assert.deepEqual(lacks("yoga", {}, null, [...IMAGE, "capabilities.boot_option=local"]), []);
  assert.equal(lacks("2023.1", { deploy_interface: "ramdisk" }).length, 3);
});

test("a machine that no conductor takes over needs nothing", () => {
  assert.deepEqual(lacks("juno", { provision_state: null }), []);
  assert.deepEqual(lacks("juno", { maintenance: true }), []);
});

test("who was taken over and whose power no conductor read yet is counted, and said", async () => {
  const world = ironic(3, { takes: 0 });
  const { handover } = world.releasing();
  // The third stays staged: its power is nobody's to read.
  for (const uuid of ["n1", "n2"]) await handover.clear(uuid);
  world.change("n1", { power_state: "power on" });
  const tally = noStates();
  const none = () => Promise.resolve(new Map());
  for await (const _ of observe(world.plan(), handover, tally, false, none));
  assert.deepEqual([tally.done, tally.staged, tally.powerUnknown], [2, 1, 1]);
  const said = takenOverText(tally, 0, 0);
  assert.match(said[1] ?? "", /^Power: Ironic has not read the power state of 1 machine/);
  assert.equal(takenOverText({ ...tally, powerUnknown: 0 }, 0, 0).length, 1);
});
