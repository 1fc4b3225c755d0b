import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { openWriting } from "../../../src/systems/database/write.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { acceptOf, SITE } from "../../hostile/fleet.ts";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { after, open } from "../../support/planned-case.ts";
import { deployed, startTool, user } from "./deployed.ts";

const busy = { code: 0xc0, times: 1000, command: "00/01" };

/** One machine for each finding of the gate that IPMI brings; the fifth is not asked. */
const MACHINES: readonly (readonly [string, Partial<BmcOptions>])[] = [
  ["N2I-D600", { users: user(1), dead: true }],
  ["N2I-D601", { users: [{ name: "admin", password: "another" }] }],
  ["N2I-D602", { users: [{ name: "admin", password: "bmc-secret-3", limit: 3 }] }],
  ["N2I-D603", { users: user(4), power: false }],
  ["N2I-D604", { users: user(5) }],
  ["N2I-D605", { users: user(6) }],
  ["N2I-D606", { users: user(7), busy }],
  ["N2I-D607", { users: user(8) }],
];

test("each finding of the gate blocks its machine, and is accepted by its own word alone", async (t) => {
  const bmcs = MACHINES.map(([, bmc]) => bmc);
  const at = await deployed(t, bmcs, (addresses) => ({
    nova_bm: {
      nodes: addresses.map((pm_address, n) => ({
        ...{ id: n + 1, pm_address },
        ...(n === 3 && {
          instance_uuid: "b0000000-0000-4000-8000-000000000004",
          ...{ instance_name: "tenant-4", task_state: "active" },
          ...{ root_mb: 40_960, swap_mb: 1, ephemeral_mb: 0 },
        }),
        ...(n === 7 && { pm_user: "n".repeat(17) }),
      })),
    },
  }));
  const site = join(at.folder, "decisions.json");
  const accepts = (...codes: readonly string[]): void => {
    const fake = { match: { uuid: "*0006" }, set: { power_manager: "fake" } };
    const machines = [...SITE.machines, fake, { match: {}, accept: acceptOf(...codes) }];
    writeFileSync(site, JSON.stringify({ ...SITE, machines }));
  };
  accepts();
  const nodes = [1, 2, 3, 4, 6, 7, 8].flatMap((id) => ["--node", String(id)]);
  await at.power(3, "--deadline", "2", "--site", site, ...nodes);
  for (const accepted of [[], ...MACHINES.map(([code]) => [code])]) {
    accepts(...accepted);
    const { out } = await at.plan(accepted.length > 0 ? 0 : 6, "--site", site);
    for (const [n, [code]] of MACHINES.entries()) {
      const verdict = accepted.includes(code) ? "create" : `blocked +${code}`;
      assert.match(out, new RegExp(`00000000000${n + 1} +${verdict}`), out);
    }
  }
});

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

test("every BMC gets its verdict, and the plan blocks each machine that is not sure, and without readings all", async (t) => {
  const all: readonly Partial<BmcOptions>[] = [
    { users: user(1), power: true },
    { users: user(2), power: false, suites: [17] },
    { users: [{ name: "admin", password: "another" }] },
    { users: [{ name: "root", password: "bmc-secret-4" }] },
    { users: user(5), dead: true },
    { users: [{ name: "admin", password: "bmc-secret-6", limit: 3 }] },
    { users: user(7), kg: "00112233" },
    { users: user(8), openPrivilege: true },
  ];
  const at = await deployed(t, all);
  const before = await at.plan(6);
  assert.equal(before.out.match(/blocked +N2I-D604/g)?.length, all.length, before.out);
  await at.power(3, "--deadline", "3");
  assert.deepEqual(
    at.readings().map(({ bm_node_ids, verdict, power }) => [bm_node_ids[0], verdict, power]),
    [
      [1, "ok", "on"],
      [2, "ok", "off"],
      [3, "wrong-password", null],
      [4, "wrong-user", null],
      [5, "unreachable", null],
      [6, "ok", at.readings()[5]?.power],
      [7, "wrong-kg", null],
      [8, "ok", "off"],
    ],
  );
  // The last one is read by whoever asks as OPERATOR, and a conductor asks as ADMINISTRATOR.
  const operator = "N2I-D602 set driver_info.ipmi_priv_level to OPERATOR";
  const { out } = await at.plan(0);
  for (const [id, verdict] of Object.entries({
    ...{ 1: "create", 3: "blocked +N2I-D601", 4: "blocked +N2I-D601", 5: "blocked +N2I-D600" },
    ...{ 6: `blocked +${operator}`, 7: "blocked +N2I-D601", 8: `blocked +${operator}` },
  }))
    assert.match(out, new RegExp(`00000000000${id} +${verdict}`));
  assert.match((await at.plan(0, "--max-unreachable", "1")).out, /000000000005 +create/);
});

test("power is recorded only when that is asked for, and then as measured", async (t) => {
  const at = await deployed(t, [
    { users: user(1), power: true },
    { users: user(2), power: false },
  ]);
  await at.power(0);
  const plain = await at.plan(0, "--diff");
  assert.equal(plain.out.match(/power_state = null +<- constant/g)?.length, 2 * 2);
  const recorded = await at.plan(0, "--diff", "--record-power");
  assert.match(recorded.out, /power_state = "power on" +<- measured over IPMI/);
  assert.match(recorded.out, /power_state = "power off" +<- measured over IPMI/);
});

test("--only VERDICT and --host ask a part again, and the report tells whose the machines are", async (t) => {
  const wrong = { users: [{ name: "admin", password: "another" }] };
  const at = await deployed(
    t,
    [{ users: user(1) }, wrong, wrong, { users: user(4), closed: true }],
    (addresses) => ({
      nova_bm: {
        nodes: addresses.map((pm_address, n) => ({
          ...{ id: n + 1, pm_address, service_host: n === 2 ? "compute-2" : "compute-1" },
        })),
      },
      nova_conf: { "compute-1": {}, "compute-2": {} },
    }),
  );
  const first = await at.power(3, "--deadline", "3", "--list", "-f", "json");
  // The command prints what its own columns name.
  const rows = JSON.parse(first.out) as readonly { readonly [column: string]: unknown }[];
  assert.deepEqual(
    rows.map((row) => [row["BM ID"], row.Host, row.Verdict, row.Vendor, row.Firmware]),
    [
      ["1", "compute-1", "ok", "IANA 4753", "5.03"],
      ["2", "compute-1", "wrong-password", null, null],
      ["3", "compute-2", "wrong-password", null, null],
      ["4", "compute-1", "port-closed", null, null],
    ],
  );
  assert.match(String(rows[0]?.UUID), /^[0-9a-f-]{36}$/);
  assert.match(first.err, /^ +1 {2}wrong-password +compute-2 +198\.1[89]\.\d+\.0\/24$/m);

  const before = at.readings();
  await at.power(3, "--deadline", "3", "--only", "wrong-password", "--host", "compute-2");
  assert.deepEqual(
    at.readings().map(({ asked_at }, n) => asked_at === before[n]?.asked_at),
    [true, true, false, true],
  );
  assert.match(
    (await at.power(64, "--host", "compute-9")).err,
    /N2I-E306.*"compute-9" is not in the snapshot/s,
  );
});

test("two power runs on one folder: the second is refused", async (t) => {
  const at = await deployed(t, [{ users: user(1), dead: true }]);
  const first = startTool(["power", ...at.at], undefined, 0);
  while (!existsSync(join(at.folder, "run", "run.lock"))) await sleep(20);
  assert.match((await at.power(11)).err, /N2I-E302/);
  first.stop();
  await first;
});

test("apply refuses readings that are too old, and a rehearsal says so and goes on", async (t) => {
  const at = await deployed(t, [{ users: user(1) }]);
  await at.power(0);
  await at.plan(0);
  const apply = ["apply", ...at.at, ...at.written.ironic, "--yes"];
  assert.match((await runs(4, [...apply, "--power-max-age", "0"])).err, /N2I-E307/);
  const copy = join(at.folder, "copy.sqlite");
  copyFileSync(join(at.folder, "ironic.sqlite"), copy);
  const words = ["rehearse", ...at.at, "--ironic-db", `sqlite:///${copy}`, "--yes"];
  const rehearsed = await runs(4, [...words, "--power-max-age", "0"]);
  assert.match(
    rehearsed.err,
    /^apply would be refused: N2I-E307 .* It was rehearsed with the old readings\.$/m,
  );
  assert.match(rehearsed.out, /verify again .* done/);
  await runs(0, apply);
});

test("after Ctrl-C nobody new is asked, and every session that was opened is closed", async (t) => {
  const bmcs = Array.from({ length: 40 }, (_, at) => ({ users: user(at + 1), delayMs: 20 }));
  const at = await deployed(t, bmcs);
  const { addresses, farm } = at;
  const asked = (): number => addresses.filter((one) => farm.counts(one).received > 0).length;
  const sum = (what: "logins" | "closes"): number =>
    addresses.reduce((total, one) => total + farm.counts(one)[what], 0);
  let before = 0;
  const going = startTool(["power", ...at.at, "--in-flight", "4"], (text) => {
    if (before === 0 && /Stopping after/.test(text)) before = asked();
  });
  while (sum("logins") < 10) await turn();
  going.stop();
  await ends(130, going);
  assert.ok(before > 0 && before < 36, String(before));
  // The first datagrams of four may be on their way when it says so.
  assert.ok(asked() <= before + 4, `${asked()} asked, ${before} before`);
  assert.equal(sum("closes"), sum("logins"));
});

/** Name and password on the BMC, and what nova_bm has where that is another. */
const LOGINS: readonly (readonly [string, string, string, string, string, string])[] = [
  ["admin", "p".repeat(16), "admin", "p".repeat(16), "ok", ""],
  ["admin", "p".repeat(20), "admin", "p".repeat(20), "ok", ""],
  ["admin", "p".repeat(20), "admin", `${"p".repeat(20)}q`, "ok", "N2I-D626"],
  ["admin", "p".repeat(20), "admin", "p".repeat(19), "wrong-password", ""],
  ["admin", "pässwörd-€", "admin", "pässwörd-€", "ok", ""],
  // The twentieth byte is within the last character, and ipmitool cuts there, too.
  ["admin", `${"€".repeat(6)}é`, "admin", `${"€".repeat(6)}ééé`, "ok", "N2I-D626"],
  ["n".repeat(16), "secret", "n".repeat(16), "secret", "ok", ""],
  ["jürgen", "secret", "jürgen", "secret", "ok", ""],
  ["é".repeat(8), "secret", "é".repeat(8), "secret", "ok", ""],
  ["admin", "secret", "n".repeat(17), "secret", "incomplete", ""],
  ["admin", "secret", "é".repeat(9), "secret", "incomplete", ""],
  ["", "secret", "", "secret", "ok", ""],
];

test("names and passwords of any length and script are used as ipmitool uses them", async (t) => {
  const at = await deployed(
    t,
    LOGINS.map(([name, password]) => ({ users: [{ name, password }] })),
    (addresses) => ({
      nova_bm: {
        nodes: LOGINS.map(([, , pm_user, pm_password], n) => ({
          ...{ id: n + 1, pm_address: addresses[n] ?? "", pm_user, pm_password },
        })),
      },
    }),
  );
  await at.power(3, "--deadline", "5");
  for (const [n, { verdict, warnings, detail }] of at.readings().entries()) {
    const [, , name, , expected, warning] = LOGINS[n] ?? [];
    assert.equal(verdict, expected, `${name}: ${detail}`);
    assert.deepEqual(warnings.includes("N2I-D626"), warning === "N2I-D626", `${n}`);
  }
});

test("an edited power.jsonl is refused by plan and apply, and asking again replaces it", async (t) => {
  const at = await deployed(t, [{ users: user(1), power: true }]);
  await at.power(0);
  const path = join(at.folder, "run", "power.jsonl");
  await at.plan(0);
  writeFileSync(path, readFileSync(path, "utf8").replace('"power":"on"', '"power":"off"'));
  const apply = ["apply", ...at.at, ...at.written.ironic, "--yes"];
  assert.match((await at.plan(4)).err, /N2I-E112/);
  assert.match((await runs(4, apply)).err, /N2I-E112/);
  await at.power(0);
  assert.equal(at.readings()[0]?.power, "on");
  const other = await run(apply);
  assert.match(other.err, /N2I-E307 .*power\.jsonl is not the file that the plan was made from/);
  await at.plan(0);
});

test("--only and --node destroy nothing of a run that was stopped", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) => ({ users: user(at + 1) }));
  const at = await deployed(t, bmcs);
  const rate = ["--rate", "10"];
  const first = startTool(["power", ...at.at, ...rate], undefined, 1000);
  const partial = join(at.folder, "run", "power.jsonl.partial");
  while (!existsSync(partial) || readFileSync(partial, "utf8").split("\n").length < 3)
    await sleep(20);
  first.stop();
  await ends(130, first);
  const kept = readFileSync(partial, "utf8");
  const only = await at.power(64, ...rate, "--only", "failed");
  assert.match(only.err, /N2I-E110.*no readings of this snapshot/s);
  await at.power(0, ...rate, "--node", "3");
  assert.deepEqual(
    at.readings().map(({ bm_node_ids }) => bm_node_ids),
    [[3]],
  );
  assert.equal(readFileSync(partial, "utf8"), kept);
  const { logins } = at.farm.counts();
  await at.power(0, ...rate);
  assert.equal(at.readings().length, 30);
  // Those whose answer was kept are not asked again.
  assert.equal(at.farm.counts().logins - logins, 31 - kept.trim().split("\n").length);
});
