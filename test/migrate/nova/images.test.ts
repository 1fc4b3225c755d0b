import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { assertRefusal, ends, run, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { planWords } from "../../support/plan-files.ts";
import { cloud } from "./cloud.ts";
import { fakeCloud, PASSWORD } from "./fake-cloud.ts";

const KERNEL = { id: "id-of-the-kernel", name: "deploy kernel, of 2015", status: "active" };
const RAMDISK = { id: "id-of-the-ramdisk", name: "deploy.initrd", status: "active" };

async function planning(t: TestContext, images: readonly string[]) {
  const made = await deployFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, reader, plan, run: folder } = made;
  const glance = await fakeCloud(t);
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...images, "-q"];
  const plans = (env = glance.env) => run(words, { env });
  return {
    ...{ folder, glance, plans },
    async refuses(cases: readonly (readonly [typeof glance.images, RegExp])[]): Promise<void> {
      for (const [held, saying] of cases) {
        glance.images.splice(0, glance.images.length, ...held);
        assertRefusal(await plans(), 4, "N2I-E215", saying);
      }
    },
  };
}

test("deploy images are looked up in Glance by their names, and what is not exactly right is refused by name", async (t) => {
  const { folder, glance, plans, refuses } = await planning(t, [
    ...["--deploy-kernel", `name:${KERNEL.name}`, "--deploy-ramdisk", `name:${RAMDISK.name}`],
  ]);
  const right = [
    { ...KERNEL, disk_format: "aki" },
    { ...RAMDISK, disk_format: "raw" },
  ];
  await refuses([
    [[], /deploy kernel "deploy kernel, of 2015": \S+ has no image with this name/],
    [
      [{ ...KERNEL, status: "queued", disk_format: null }],
      /not active: id-of-the-kernel is queued/,
    ],
    [
      [{ ...KERNEL, disk_format: "qcow2" }],
      /id-of-the-kernel has disk_format qcow2, expected is aki or raw/,
    ],
    [
      [...right, { ...RAMDISK, id: "second", disk_format: "ari" }],
      /deploy ramdisk "deploy.initrd": 2 images have this name: id-of-the-ramdisk, second/,
    ],
    // Two pages of images that are gone, and the right one on the third.
    [
      [
        ...[1, 2, 3, 4].map((n) => ({
          ...{ ...KERNEL, id: `old-${n}`, status: "deleted", disk_format: null },
        })),
        { ...KERNEL, disk_format: "ari" },
      ],
      /id-of-the-kernel has disk_format ari/,
    ],
  ]);
  glance.images.splice(0, glance.images.length, ...right);
  glance.answer = { status: 403, body: { message: "not you" } };
  assertRefusal(await plans(), 12, "N2I-E211", /not you/);
  glance.answer = null;
  assertRefusal(await plans({}), 64, "N2I-E106", /image service/);
  const wrong = await plans({ ...glance.env, OS_PASSWORD: "another" });
  assertRefusal(wrong, 12, "N2I-E211", /rejects the credentials/);
  const ran = await ends(0, plans());
  const words = planWords(folder, "nova");
  assert.match(words, /"old-kernel".*"id-of-the-kernel"/);
  assert.match(words, /"old-ramdisk".*"id-of-the-ramdisk"/);
  assert.ok(![ran.out, ran.err, words].some((text) => text.includes(PASSWORD)));
});

test("deploy images given by their ids are looked up where a login is given, and taken as they are without one", async (t) => {
  const { glance, plans, refuses } = await planning(t, [
    "--deploy-kernel",
    KERNEL.id,
    "--deploy-ramdisk",
    RAMDISK.id,
  ]);
  const kernel = { ...KERNEL, disk_format: "raw" };
  const ramdisk = { ...RAMDISK, disk_format: "ari" };
  await refuses([
    [[ramdisk], /deploy kernel "id-of-the-kernel": \S+ has no image with this id that is visible/],
    [[{ ...kernel, status: "deactivated" }, ramdisk], /id-of-the-kernel is deactivated/],
    [[kernel, { ...ramdisk, disk_format: "aki" }], /disk_format aki, expected is ari or raw/],
  ]);
  glance.images.splice(0, glance.images.length, kernel, ramdisk);
  const half = await plans({ OS_AUTH_URL: glance.env.OS_AUTH_URL ?? "" });
  assertRefusal(half, 64, "N2I-E106", /password is missing/);
  glance.calls.length = 0;
  await ends(0, plans());
  assert.deepEqual(glance.calls, [
    "GET /image/v2/images/id-of-the-kernel",
    "GET /image/v2/images/id-of-the-ramdisk",
  ]);
  glance.calls.length = 0;
  await ends(0, plans({}));
  assert.deepEqual(glance.calls, []);
});
