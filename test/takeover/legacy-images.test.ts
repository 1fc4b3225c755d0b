import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { DOWN } from "../manage/scene.ts";
import { MOVE } from "./cloud.ts";
import { HERE, INSTANCE, imageOf, NAMES_A, RECORD, said, site } from "./legacy-site.ts";
import { IMAGES } from "./legacy-trees.ts";

test("services that do not answer keep no machine whose tree is whole, and say so", async (t) => {
  const here = await site(t);
  const { host, services, old } = here;
  for (const name of IMAGES) writeFileSync(join(old, INSTANCE, name), `${name} of Glance\n`);
  services.use(() => DOWN);
  const planned = await host(...here.plan);
  assert.match(planned.err, /Warning: Glance is not used/);
  assert.match(planned.out, /1 of 1 machine to move/);
  const moved = await ends(0, host(...MOVE));
  assert.match(moved.err, /Warning: Neutron is not used/);
  assert.match(moved.out, /^openstack port set --host B/m);
});

test("a machine stays whose image is shorter than Glance's, not whole in Glance, or in Glance no more", async (t) => {
  const here = await site(t);
  const { host, old, plan, rows, services } = here;
  const stays = async (says: RegExp): Promise<void> => {
    const planned = await host(...plan, "-f", "json");
    assert.match(planned.out, says, planned.err);
    assert.equal((await rows()).machines[0], HERE);
  };
  writeFileSync(join(old, INSTANCE, "kernel"), "cut");
  await stays(/N2I-D287[\s\S]*kernel has 3 bytes, but Glance's image kernel has 17/);
  rmSync(join(old, INSTANCE, "kernel"));
  imageOf(services, "ramdisk", "x", { status: "queued" });
  await stays(/N2I-D287[\s\S]*its status in Glance is queued \(ramdisk\)/);
  services.images.delete("ramdisk");
  const nowhere = "no specified tree has it, and Glance has no such image \\(ramdisk\\)";
  await stays(new RegExp(`N2I-D287[^]*ramdisk does not exist: ${nowhere}`));
});

test("an image that is not what Glance says of it, or a copy of its size, moves nothing", async (t) => {
  const here = await site(t);
  const { host, services, old, own, rows } = here;
  await ends(0, host(...here.plan));
  Object.assign(services.images.get("kernel") ?? {}, { bytes: "kernel of Nobody\n" });
  const moved = await ends(4, host(...MOVE));
  assert.match(moved.err, /image kernel differs from its record in Glance: its md5 is/);
  writeFileSync(join(old, INSTANCE, "kernel"), "kernel of Nobody\n");
  const copied = await host(...MOVE);
  assert.match(copied.err, /kernel is not its image: its md5 is \w+, and that of Glance's image/);
  assert.equal((await rows()).machines[0], HERE);
  assert.deepEqual(readdirSync(own), []);
  assert.deepEqual(said(here), NAMES_A);
});

test("kernel and ramdisk that Nova lost are those that the agent of the old host published", async (t) => {
  const here = await site(t);
  const { host, bm, nova } = here;
  await nova("instances").update({ kernel_id: "", ramdisk_id: null });
  const planned = () => host(...here.plan, "-f", "json");
  assert.match((await planned()).out, /its Glance image is unknown/);
  await bm("bm_boot_records").insert(RECORD);
  assert.match((await planned()).out, /"Verdict": "move"/);
  await ends(0, host(...MOVE));
  const file = join(here.own, INSTANCE, "kernel");
  assert.equal(readFileSync(file, "utf8"), "kernel of Glance\n");
});
