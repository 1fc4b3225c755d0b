import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openWriting } from "../../../src/systems/database/write.ts";
import { runs } from "../../hostile/cli.ts";
import { after, open } from "../../support/planned-case.ts";
import { deployed, user } from "./deployed.ts";

const IMAGES = { deploy_kernel: "new-kernel", deploy_ramdisk: "new-ramdisk" };

function siteAt(folder: string, set: object, more: readonly object[] = []): string {
  const path = join(folder, "decisions.json");
  const machines = [{ match: {}, set: { ...IMAGES, ...set } }, ...more];
  writeFileSync(path, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  return path;
}

/** Two BMCs: that of nova_bm, and the one that the site document names and a plan loads. */
async function ofTwo(t: TestContext) {
  const bmcs = [true, false].map((power) => ({ users: user(1), power }));
  const at = await deployed(t, bmcs, ([pm_address = ""]) => ({
    ...{ nova_bm: { nodes: [{ id: 1, pm_address }] }, nova_conf: null },
  }));
  const [, second = ""] = at.addresses;
  const info = { ipmi_address: second };
  const set = { power_manager: "ipmi", cpu_arch: "x86_64", driver_info: info };
  return { at, second, site: siteAt(at.folder, set) };
}

test("power asks the BMC that the site document names, and the plan takes no other's word", async (t) => {
  const { at, second, site } = await ofTwo(t);
  // Without the site document nobody knows how to ask, and so the plan is told nothing.
  await at.power(3);
  const next = async () => (await runs(0, ["next", ...at.at])).out.replaceAll(/\s+/g, " ");
  const loud = await runs(6, ["plan", ...at.at, ...at.written.ironic, "--site", site]);
  assert.match(loud.out, /blocked +N2I-D612 asked no BMC/);
  assert.match(loud.err, /^Next: nova2ironic power /m);
  // Another plan would find the same until power is checked with its settings.
  assert.match(await next(), /nova2ironic power --run /);
  await at.power(0, "--site", site, "--only", "failed");
  assert.match(await next(), /nova2ironic plan --run /);
  const [reading] = at.readings();
  assert.deepEqual([reading?.address, reading?.power], [second, "off"]);
  // It is kept: the next power needs no word of it.
  await at.power(0);
  assert.equal(at.readings()[0]?.address, second);
  assert.match((await at.plan(0, "--site", site)).out, /1 +create|create/);
});

/** Three BMCs; the site document names the third one's address for the second machine too. */
async function ofThree(t: TestContext) {
  const at = await deployed(t, [{ users: user(1) }, { users: user(2) }, { users: user(3) }]);
  const [, second, third = ""] = at.addresses;
  const machines = [{ match: { id: 2 }, set: { driver_info: { ipmi_address: third } } }];
  return { at, second, third, site: siteAt(at.folder, {}, machines) };
}

test("a run without its site document checks power without it, and only once", async (t) => {
  const { at, second, site } = await ofThree(t);
  await at.power(3, "--site", site);
  const without = ["--without", "site"];
  assert.match((await at.plan(0, ...without)).out, /000000000002 +blocked +N2I-D612/);
  await runs(0, ["run", ...at.at, "--until", "plan", "--yes", ...without]);
  assert.equal(at.readings()[1]?.address, second);
});

test("a run checks power and plans once more if readings used other settings, those of all machines or some", async (t) => {
  const [two, three] = [await ofTwo(t), await ofThree(t)];
  await two.at.power(3);
  await two.at.plan(6, "--site", two.site);
  await three.at.power(0);
  const planned = await three.at.plan(0, "--site", three.site);
  assert.match(planned.out, /000000000002 +blocked +N2I-D612/);
  for (const { at } of [two, three]) {
    const { err } = await runs(0, ["run", ...at.at, "--until", "plan", "--yes"]);
    const settings = "conductors will use settings that differ from the last power check";
    assert.match(err, new RegExp(`power is repeated: ${settings}`));
    assert.match(err, /plan is repeated: power was checked again after the plan was made/);
  }
  assert.equal(two.at.readings()[0]?.address, two.second);
  assert.equal(three.at.readings()[1]?.address, three.third);
});

test("a new extract keeps the readings of machines whose BMC and password are the same", async (t) => {
  const corrected = { users: [{ name: "admin", password: "corrected" }] };
  const at = await deployed(t, [{ users: user(1) }, corrected, { users: user(3) }]);
  const site = ["--site", siteAt(at.folder, {})];
  await at.power(3);
  const before = at.readings();
  assert.equal(before[1]?.verdict, "wrong-password");
  const nova_bm = await open(after(at.written.extract, "--nova-bm-db")[0] ?? "", false);
  const trx = await openWriting(nova_bm);
  await trx("bm_nodes").where({ id: 2 }).update({ pm_password: "corrected" });
  await trx.commit();
  await nova_bm.close();
  await at.extract();
  const first = await at.plan(0, ...site);
  assert.match(first.out, /000000000001 +create/);
  assert.match(
    first.out,
    /000000000002 +blocked +N2I-D612 asked with a password, Kg or MAC other than/,
  );
  const logins = () => at.addresses.map((address) => at.farm.counts(address).logins);
  const [one = 0, two = 0, three = 0] = logins();
  await at.power(0, "--only", "failed");
  // Only the one that was corrected is asked.
  assert.deepEqual(logins(), [one, two + 1, three]);
  const now = at.readings();
  assert.ok(now.length === 3 && now.every(({ verdict }) => verdict === "ok"));
  assert.equal(now[0]?.asked_at, before[0]?.asked_at);
  assert.match((await at.plan(0, ...site)).out, /000000000002 +create/);
});
