import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { deployed, readings, run, startTool, user } from "./deployed.ts";

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
  const planning = ["plan", "--run", "run", ...at.written.ironic, "-q"];
  const before = await run(at.folder, planning);
  assert.equal(before.out.match(/blocked +N2I-D604/g)?.length, all.length, before.out);
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "3", "-f", "json"]);
  assert.equal(asked.code, 3, asked.err);
  assert.deepEqual(
    readings(at.folder).map(({ bm_node_ids, verdict, power }) => [bm_node_ids[0], verdict, power]),
    [
      [1, "ok", "on"],
      [2, "ok", "off"],
      [3, "wrong-password", null],
      [4, "wrong-user", null],
      [5, "unreachable", null],
      [6, "ok", readings(at.folder)[5]?.power],
      [7, "wrong-kg", null],
      [8, "ok", "off"],
    ],
  );
  const plan = await run(at.folder, planning);
  assert.equal(plan.code, 0, plan.err);
  for (const [id, code] of [
    [3, "N2I-D601"],
    [4, "N2I-D601"],
    [5, "N2I-D600"],
    [7, "N2I-D601"],
  ] as const)
    assert.match(plan.out, new RegExp(`${String(id).padStart(12, "0")} +blocked +${code}`));
  assert.match(plan.out, /000000000001 +create/);
  // The second is read by whoever asks as OPERATOR, and a conductor asks as ADMINISTRATOR.
  for (const id of [6, 8])
    assert.match(
      plan.out,
      new RegExp(`00${id} +blocked +N2I-D602 set driver_info.ipmi_priv_level to OPERATOR`),
    );
  const allowed = await run(at.folder, [...planning, "--max-unreachable", "1"]);
  assert.match(allowed.out, /000000000005 +create/);
});

test("power is recorded only when that is asked for, and then as measured", async (t) => {
  const at = await deployed(t, [
    { users: user(1), power: true },
    { users: user(2), power: false },
  ]);
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  const planning = ["plan", "--run", "run", ...at.written.ironic, "-q", "--diff"];
  const plain = await run(at.folder, planning);
  assert.equal(plain.out.match(/power_state = null +<- constant/g)?.length, 2 * 2);
  const recorded = await run(at.folder, [...planning, "--record-power"]);
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
  const power = (...words: readonly string[]) =>
    run(at.folder, ["power", "--run", "run", "--deadline", "3", ...words]);
  const first = await power("--list", "-f", "json");
  assert.equal(first.code, 3, first.err);
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

  const asked = (): readonly (string | undefined)[] =>
    readings(at.folder).map(({ asked_at }) => asked_at);
  const times = asked();
  const again = await power("--only", "wrong-password", "--host", "compute-2");
  assert.equal(again.code, 3, again.err);
  assert.deepEqual(
    asked().map((time, n) => time === times[n]),
    [true, true, false, true],
  );
  const none = await power("--host", "compute-9");
  assert.match(none.err, /N2I-E306.*"compute-9" is not in the snapshot/s);
});

test("two power runs on one folder: the second is refused", async (t) => {
  const at = await deployed(t, [{ users: user(1), dead: true }]);
  const first = startTool(at.folder, ["power", "--run", "run"], undefined, 0);
  while (!existsSync(join(at.folder, "run", "run.lock"))) await sleep(20);
  const second = await run(at.folder, ["power", "--run", "run"]);
  assert.equal(second.code, 11, second.err);
  assert.match(second.err, /N2I-E302/);
  first.stop();
  await first;
});

test("apply refuses readings that are too old, and a rehearsal says so and goes on", async (t) => {
  const at = await deployed(t, [{ users: user(1) }]);
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  assert.equal((await run(at.folder, ["plan", "--run", "run", ...at.written.ironic])).code, 0);
  const apply = ["apply", "--run", "run", ...at.written.ironic, "--yes"];
  const old = await run(at.folder, [...apply, "--power-max-age", "0"]);
  assert.equal(old.code, 4, old.err);
  assert.match(old.err, /N2I-E307/);
  copyFileSync(join(at.folder, "ironic.sqlite"), join(at.folder, "copy.sqlite"));
  const copy = `sqlite:///${join(at.folder, "copy.sqlite")}`;
  const words = ["rehearse", "--run", "run", "--ironic-db", copy, "--yes"];
  const rehearsed = await run(at.folder, [...words, "--power-max-age", "0"]);
  assert.equal(rehearsed.code, 4, rehearsed.err);
  assert.match(rehearsed.err, /^apply would be refused: N2I-E307 .* with the old readings\.$/m);
  assert.match(rehearsed.out, /verify again .* done/);
  const fresh = await run(at.folder, apply);
  assert.equal(fresh.code, 0, fresh.err);
});

test("after Ctrl-C nobody new is asked, and every session that was opened is closed", async (t) => {
  const bmcs = Array.from({ length: 40 }, (_, at) => ({ users: user(at + 1), delayMs: 20 }));
  const at = await deployed(t, bmcs);
  const { addresses, farm } = at;
  const asked = (): number => addresses.filter((one) => farm.counts(one).received > 0).length;
  const sum = (what: "logins" | "closes"): number =>
    addresses.reduce((total, one) => total + farm.counts(one)[what], 0);
  let before = 0;
  const going = startTool(at.folder, ["power", "--run", "run", "--in-flight", "4"], (text) => {
    if (before === 0 && /Stopping after/.test(text)) before = asked();
  });
  while (sum("logins") < 10) await turn();
  going.stop();
  const stopped = await going;
  assert.equal(stopped.code, 130, stopped.err);
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
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "5"]);
  assert.equal(asked.code, 3, asked.err);
  for (const [n, { verdict, warnings, detail }] of readings(at.folder).entries()) {
    const [, , name, , expected, warning] = LOGINS[n] ?? [];
    assert.equal(verdict, expected, `${name}: ${detail}`);
    assert.deepEqual(warnings.includes("N2I-D626"), warning === "N2I-D626", `${n}`);
  }
});

test("an edited power.jsonl is refused by plan and apply, and asking again replaces it", async (t) => {
  const at = await deployed(t, [{ users: user(1), power: true }]);
  assert.equal((await run(at.folder, WORDS)).code, 0);
  const path = join(at.folder, "run", "power.jsonl");
  const plan = ["plan", "--run", "run", ...at.written.ironic, "-q"];
  assert.equal((await run(at.folder, plan)).code, 0);
  writeFileSync(path, readFileSync(path, "utf8").replace('"power":"on"', '"power":"off"'));
  const apply = ["apply", "--run", "run", ...at.written.ironic, "--yes"];
  for (const words of [plan, apply]) {
    const refused = await run(at.folder, words);
    assert.match(refused.err, /N2I-E112/);
    assert.notEqual(refused.code, 0);
  }
  const again = await run(at.folder, WORDS);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder)[0]?.power, "on");
  const other = await run(at.folder, apply);
  assert.match(other.err, /N2I-E307 .*power\.jsonl is not the file that the plan was made from/);
  assert.equal((await run(at.folder, plan)).code, 0);
});

async function answered(partial: string): Promise<void> {
  while (!existsSync(partial) || readFileSync(partial, "utf8").split("\n").length < 3)
    await sleep(20);
}

const WORDS = ["power", "--run", "run", "--rate", "10"];

test("--only and --node destroy nothing of a run that was stopped", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) => ({ users: user(at + 1) }));
  const at = await deployed(t, bmcs);
  const first = startTool(at.folder, WORDS, undefined, 1000);
  const partial = join(at.folder, "run", "power.jsonl.partial");
  await answered(partial);
  first.stop();
  assert.equal((await first).code, 130);
  const kept = readFileSync(partial, "utf8");
  const only = await run(at.folder, [...WORDS, "--only", "failed"]);
  assert.match(only.err, /N2I-E110.*no readings of this snapshot/s);
  assert.equal((await run(at.folder, [...WORDS, "--node", "3"])).code, 0);
  assert.deepEqual(
    readings(at.folder).map(({ bm_node_ids }) => bm_node_ids),
    [[3]],
  );
  assert.equal(readFileSync(partial, "utf8"), kept);
  const logins = at.farm.counts().logins;
  const again = await run(at.folder, WORDS);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder).length, 30);
  // Those whose answer was kept are not asked again.
  const asked = at.farm.counts().logins - logins;
  assert.equal(asked, 31 - kept.trim().split("\n").length);
});
