import assert from "node:assert/strict";
import { test } from "node:test";
import { withBmcs } from "../../lab/bmc/with-farm.ts";
import { askAllOf } from "./ask-lab.ts";
import { busy } from "./sim-bmc.ts";

/** What the network can do to datagrams, besides some faults of session.test.ts. */
const FAULTS = [
  ["ok", { duplicate: 1, repeats: "answered", delayMs: 30 }],
  ["ok", { reorder: 0.3 }],
  ["ok", { late: { probability: 0.1, ms: 2500 } }],
  ["ok", { garbage: 1 }],
  ["ok", { dropRx: 0.05, dropTx: 0.05, repeats: "answered", duplicate: 0.3 }],
  ["ok", { suites: [3], kg: "6b6579" }, { kg: "key" }],
  ["wrong-password", {}, { password: "guess" }],
  ["busy", busy(0xc0, 1000)],
  ["no-slots", { sessionLimit: 0 }],
  ["unreachable", { dead: true }],
  ["port-closed", { closed: true }],
] as const;

test("every fault over real sockets has its verdict, and no command that switches was sent", async (t) => {
  const bmcs = FAULTS.map(([, fault]) => ({ power: true, ...fault }));
  const farm = await withBmcs(t, bmcs);
  const asked = farm.addresses.map((address, at) => ({ ...farm.at(address), ...FAULTS[at]?.[2] }));
  const readings = await askAllOf(t, asked);
  assert.deepEqual(
    readings.map(({ verdict, power }) => [verdict, power]),
    FAULTS.map(([verdict]) => [verdict, verdict === "ok" ? "on" : null]),
  );
  assert.deepEqual(farm.others(), []);
  for (const [at, [verdict, fault]] of FAULTS.entries()) {
    const { rakp3, logins, closes } = farm.counts(farm.addresses[at]);
    // After a wrong password nothing more is sent, so the BMC counts no failed login.
    if (verdict === "wrong-password") assert.equal(rakp3, 0);
    const lossy = "dropRx" in fault || "late" in fault;
    if (verdict === "ok" && !lossy) assert.equal(closes, logins, `${at}`);
  }
});
