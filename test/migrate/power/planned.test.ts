import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openWriting } from "../../../src/systems/database/write.ts";
import { after, open } from "../../support/planned-case.ts";
import { deployed, readings, run, user } from "./deployed.ts";

const IMAGES = { deploy_kernel: "new-kernel", deploy_ramdisk: "new-ramdisk" };

function siteAt(folder: string, set: object): string {
  const path = join(folder, "decisions.json");
  const machines = [{ match: {}, set: { ...IMAGES, ...set } }];
  writeFileSync(path, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  return path;
}

/** Two BMCs: that of nova_bm, and the one that the site document names and a plan loads. */
async function ofTwo(t: TestContext) {
  const at = await deployed(
    t,
    [
      { users: user(1), power: true },
      { users: user(1), power: false },
    ],
    ([pm_address = ""]) => ({ nova_bm: { nodes: [{ id: 1, pm_address }] }, nova_conf: null }),
  );
  const [, second = ""] = at.addresses;
  const info = { ipmi_address: second };
  const site = siteAt(at.folder, { power_manager: "ipmi", cpu_arch: "x86_64", driver_info: info });
  const plan = ["plan", "--run", "run", ...at.written.ironic, "--site", site, "-q"];
  return { at, second, site, plan };
}

test("power asks the BMC that the site document names, and the plan takes no other's word", async (t) => {
  const { at, second, site, plan } = await ofTwo(t);
  // Without the site document nobody knows how to ask, and so the plan is told nothing.
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 3);
  const next = async (): Promise<string> =>
    (await run(at.folder, ["next", "--run", "run"])).out.replaceAll(/\s+/g, " ");
  const loud = await run(at.folder, plan.slice(0, -1));
  assert.match(loud.out, /blocked +N2I-D612 asked nobody/);
  assert.match(loud.err, /^Next: nova2ironic power /m);
  // Another plan would find the same until power is checked with its settings.
  assert.match(await next(), /nova2ironic power --run /);
  const asked = await run(at.folder, ["power", "--run", "run", "--site", site, "--only", "failed"]);
  assert.equal(asked.code, 0, asked.err);
  assert.match(await next(), /nova2ironic plan --run /);
  const [reading] = readings(at.folder);
  assert.deepEqual([reading?.address, reading?.power], [second, "off"]);
  // It is kept: the next power needs no word of it.
  const again = await run(at.folder, ["power", "--run", "run"]);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder)[0]?.address, second);
  assert.match((await run(at.folder, plan)).out, /1 +create|create/);
});

test("a run goes on from a plan of no machine if the readings used other settings", async (t) => {
  const { at, second, plan } = await ofTwo(t);
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 3);
  assert.equal((await run(at.folder, plan)).code, 6);
  const walked = await run(at.folder, ["run", "--run", "run", "--until", "plan", "--yes"]);
  assert.equal(walked.code, 0, walked.err);
  assert.match(
    walked.err,
    /power is done again: conductors will use settings other than those of the last power check/,
  );
  assert.match(walked.err, /plan is done again: power was checked again after the plan was made/);
  assert.equal(readings(at.folder)[0]?.address, second);
});

/** Three BMCs; the site document names the third one's address for the second machine too. */
async function ofThree(t: TestContext) {
  const at = await deployed(t, [{ users: user(1) }, { users: user(2) }, { users: user(3) }]);
  const info = { ipmi_address: at.addresses[2] ?? "" };
  const machines = [
    { match: {}, set: IMAGES },
    { match: { id: 2 }, set: { driver_info: info } },
  ];
  const site = join(at.folder, "decisions.json");
  writeFileSync(site, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  return { at, site, plan: ["plan", "--run", "run", ...at.written.ironic, "-q"] };
}

test("a run without its site document checks power without it, and only once", async (t) => {
  const { at, site, plan } = await ofThree(t);
  await run(at.folder, ["power", "--run", "run", "--site", site]);
  const planned = await run(at.folder, [...plan, "--without", "site"]);
  assert.match(planned.out, /000000000002 +blocked +N2I-D612/);
  const words = ["run", "--run", "run", "--until", "plan", "--yes", "--without", "site"];
  const walked = await run(at.folder, words);
  assert.equal(walked.code, 0, walked.err);
  assert.equal(readings(at.folder)[1]?.address, at.addresses[1]);
});

test("a run checks power and plans once more if some readings used other settings", async (t) => {
  const { at, site, plan } = await ofThree(t);
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  const planned = await run(at.folder, [...plan, "--site", site]);
  assert.match(planned.out, /000000000002 +blocked +N2I-D612/);
  const walked = await run(at.folder, ["run", "--run", "run", "--until", "plan", "--yes"]);
  assert.equal(walked.code, 0, walked.err);
  assert.match(walked.err, /power is done again: conductors will use other settings/);
  assert.match(walked.err, /plan is done again: power was checked again after the plan was made/);
  assert.equal(readings(at.folder)[1]?.address, at.addresses[2]);
});

test("a new extract keeps the readings of machines whose BMC and password are the same", async (t) => {
  const at = await deployed(t, [
    { users: user(1) },
    { users: [{ name: "admin", password: "corrected" }] },
    { users: user(3) },
  ]);
  const site = siteAt(at.folder, {});
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 3);
  const before = readings(at.folder);
  assert.equal(before[1]?.verdict, "wrong-password");
  const nova_bm = await open(after(at.written.extract, "--nova-bm-db")[0] ?? "", false);
  const trx = await openWriting(nova_bm);
  await trx("bm_nodes").where({ id: 2 }).update({ pm_password: "corrected" });
  await trx.commit();
  await nova_bm.close();
  const extract = await run(at.folder, ["extract", "--run", "run", ...at.written.extract]);
  assert.equal(extract.code, 0, extract.err);
  const plan = ["plan", "--run", "run", ...at.written.ironic, "--site", site, "-q"];
  const first = await run(at.folder, plan);
  assert.match(first.out, /000000000001 +create/);
  assert.match(first.out, /000000000002 +blocked +N2I-D612 asked with a password/);
  const logins = (): readonly number[] =>
    at.addresses.map((address) => at.farm.counts(address).logins);
  const [one = 0, two = 0, three = 0] = logins();
  const again = await run(at.folder, ["power", "--run", "run", "--only", "failed"]);
  assert.equal(again.code, 0, again.err);
  // Only the one that was corrected is asked.
  assert.deepEqual(logins(), [one, two + 1, three]);
  const now = readings(at.folder);
  assert.deepEqual(
    now.map(({ verdict }) => verdict),
    ["ok", "ok", "ok"],
  );
  assert.equal(now[0]?.asked_at, before[0]?.asked_at);
  assert.match((await run(at.folder, plan)).out, /000000000002 +create/);
});
