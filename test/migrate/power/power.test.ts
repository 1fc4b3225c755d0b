import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { deployed, readings, run, user } from "./deployed.ts";

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
