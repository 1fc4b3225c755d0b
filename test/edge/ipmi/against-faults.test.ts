import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcVerdict } from "../../../src/edge/ipmi/index.ts";
import type { BmcOptions, Privilege } from "../../../src/edge/ipmi/testing/index.ts";
import { withBmcs } from "../../lab/bmc/with-farm.ts";
import { type Asked, askAllOf } from "./ask-lab.ts";

const password = "s3cret-Passw0rd";
const limited = (limit: Privilege) => [{ name: "admin", password, limit }];
const busy = (code: number, times: number) => ({ busy: { code, times, command: "00/01" } });

interface Fault {
  readonly bmc: Partial<BmcOptions>;
  readonly login?: Omit<Asked, "address" | "port">;
  readonly verdict: BmcVerdict;
}

const bad = (verdict: BmcVerdict, bmc: Partial<BmcOptions>, login = {}): Fault => ({
  bmc,
  login,
  verdict,
});
const good = (bmc: Partial<BmcOptions>, login = {}): Fault =>
  bad("ok", { power: true, ...bmc }, login);

/** Every row of the faults matrix. @source facts/ipmi.md 3.4 */
const FAULTS: readonly Fault[] = [
  ...[1, 2, 15, 16].map((suite) => bad("cipher-refused", { suites: [suite] })),
  ...[3, 17].map((suite) => good({ suites: [suite] })),
  ...[3, 17].map((suite) => good({ suites: [suite], kg: "6b6579" }, { kg: "key" })),
  ...[0x01, 0x04, 0x05, 0x09, 0x0a, 0x10, 0x11, 0x12].map((status) =>
    good({ openStatus: { "17": status }, errorLength: status % 2 === 0 ? 2 : 8 }),
  ),
  ...[0x01, 0x04, 0x09, 0x0a, 0x11, 0x12].map((status) =>
    good({ openStatus: { "3": status }, advertised: [3] }),
  ),
  good({ suites: [3], advertised: [3, 17] }),
  good({ silent54: true }),
  good({ suites: [17], silent54: true, openStatus: { "3": 1 } }),
  good({ wrongChecksums: true }),
  good({ openPrivilege: true }),
  good({ echoPrivilege: true }),
  good({ statusLength: 1 }),
  good({ statusLength: 4, chassisFlags: 0x18 }),
  good({ users: limited(3) }),
  good({ users: limited(3), roleStatus: 0x09 }),
  good({ users: limited(3), roleStatus: 0x0a, errorLength: null }),
  good(busy(0xc0, 2)),
  good(busy(0xc3, 3)),
  good(busy(0xd2, 1)),
  good(busy(0xcf, 1)),
  good({ duplicate: 1 }),
  good({ duplicate: 1, repeats: "answered", delayMs: 30 }),
  good({ reorder: 0.3 }),
  good({ delayMs: 400 }),
  good({ late: { probability: 0.1, ms: 2500 } }),
  good({ garbage: 1 }),
  good({ dropRx: 0.05, dropTx: 0.05 }),
  good({ dropRx: 0.05, dropTx: 0.05, repeats: "answered", duplicate: 0.3 }),
  bad("wrong-password", {}, { password: "guess" }),
  bad("wrong-password", { suites: [3], kg: "6b6579" }, { password: "guess" }),
  bad("wrong-password", { rakp3Status: 0x0f }),
  bad("wrong-kg", { kg: "6b6579" }),
  bad("wrong-kg", { kg: "6b6579", suites: [3] }, { kg: "another" }),
  bad("wrong-user", { users: [{ name: "root", password }] }),
  bad("wrong-user", { users: [] }),
  bad("wrong-user", { users: [], errorLength: 2 }),
  bad("wrong-user", { users: [], errorLength: null }),
  bad("silent", { users: [], unknownUser: "silent" }),
  bad("privilege-refused", { users: limited(2) }),
  bad("privilege-refused", { users: limited(2), roleStatus: 0x09 }),
  bad("cipher-refused", { openStatus: { "*": 0x11 } }),
  bad("no-slots", { sessionLimit: 0 }),
  bad("no-slots", { openStatus: { "*": 1 } }),
  bad("no-slots", { openStatus: { "*": 1 }, errorLength: 2 }),
  bad("busy", busy(0xc0, 1000)),
  bad("no-ipmi2", { version2: false }),
  bad("no-ipmi2", { version2: false, refuse38: 0xcc }),
  bad("unreachable", { dead: true }),
  bad("port-closed", { closed: true }),
  bad("unreachable", { answerFrom: "192.0.2.9" }),
];

test("every fault of the matrix has its verdict, and no command that switches was sent", async (t) => {
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
