import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcVerdict } from "../../../src/lib/ipmi/index.ts";
import { withBmcs } from "../../lab/bmc/with-farm.ts";
import type { BmcOptions, Privilege } from "../../support/bmc/index.ts";
import { askAllOf, type Queried } from "./ask-lab.ts";

const password = "s3cret-Passw0rd";
const limited = (limit: Privilege) => [{ name: "admin", password, limit }];
const busy = (code: number, times: number) => ({ busy: { code, times, command: "00/01" } });

interface Fault {
  readonly bmc: Partial<BmcOptions>;
  readonly login?: Omit<Queried, "address" | "port">;
  readonly verdict: BmcVerdict;
}

const bad = (verdict: BmcVerdict, bmc: Partial<BmcOptions>, login = {}): Fault => ({
  bmc,
  login,
  verdict,
});
const good = (bmc: Partial<BmcOptions>, login = {}): Fault =>
  bad("ok", { power: true, ...bmc }, login);

/** Faults that the played BMC of session.test.ts does not have, and some that it has, over real sockets. */
const FAULTS: readonly Fault[] = [
  good({ suites: [3], kg: "6b6579" }, { kg: "key" }),
  good({ suites: [17], silent54: true, openStatus: { "3": 1 } }),
  good({ echoPrivilege: true }),
  good({ statusLength: 1 }),
  good({ statusLength: 4, chassisFlags: 0x18 }),
  good({ users: limited(3), roleStatus: 0x0a, errorLength: null }),
  good(busy(0xd2, 1)),
  good({ duplicate: 1, repeats: "answered", delayMs: 30 }),
  good({ reorder: 0.3 }),
  good({ late: { probability: 0.1, ms: 2500 } }),
  good({ garbage: 1 }),
  good({ dropRx: 0.05, dropTx: 0.05, repeats: "answered", duplicate: 0.3 }),
  bad("wrong-password", {}, { password: "guess" }),
  bad("wrong-kg", { kg: "6b6579", suites: [3] }, { kg: "another" }),
  bad("wrong-user", { users: [], errorLength: null }),
  bad("silent", { users: [], unknownUser: "silent" }),
  bad("privilege-refused", { users: limited(2), roleStatus: 0x09 }),
  bad("cipher-refused", { suites: [15] }),
  bad("no-slots", { sessionLimit: 0 }),
  bad("busy", busy(0xc0, 1000)),
  bad("no-ipmi2", { version2: false, refuse38: 0xcc }),
  bad("unreachable", { dead: true }),
  bad("port-closed", { closed: true }),
];

test("every fault of a simulated BMC has its verdict, and no command that switches was sent", async (t) => {
  const farm = await withBmcs(
    t,
    FAULTS.map(({ bmc }) => bmc),
  );
  const asked = farm.addresses.map((address, at) => ({
    ...farm.at(address),
    ...FAULTS[at]?.login,
  }));
  const readings = await askAllOf(t, asked);
  const wrong = FAULTS.flatMap(({ bmc, login, verdict }, at) => {
    const reading = readings[at];
    const right =
      reading?.verdict === verdict && reading.power === (verdict === "ok" ? "on" : null);
    return right ? [] : [{ bmc, login, verdict, said: reading?.verdict, detail: reading?.detail }];
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(farm.others(), []);
  for (const [at, address] of farm.addresses.entries()) {
    // After a wrong password nothing more is sent, so the BMC counts no failed login.
    const { verdict, login } = FAULTS[at] ?? {};
    if (verdict === "wrong-password" && login?.password !== undefined)
      assert.equal(farm.counts(address).rakp3, 0);
    const { logins, closes } = farm.counts(address);
    const lossy = FAULTS[at]?.bmc.dropRx !== undefined || FAULTS[at]?.bmc.late !== undefined;
    if (verdict === "ok" && !lossy) assert.equal(closes, logins, JSON.stringify(FAULTS[at]));
  }
});
