import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcVerdict } from "../../../src/lib/ipmi/index.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { type Asking, ask, busy, hex, known, LOGIN, limited } from "./sim.ts";

test("a healthy BMC tells its power in nine round trips, and its session is closed", async () => {
  for (const power of [true, false]) {
    const { answer, bmc, sent, took } = await ask({ power });
    assert.deepEqual([answer.verdict, answer.power], ["ok", power ? "on" : "off"]);
    assert.equal(answer.suite, 17);
    assert.deepEqual(answer.suites, [0, 3, 17]);
    assert.equal(answer.privilege, "ADMINISTRATOR");
    assert.deepEqual([answer.manufacturer, answer.device, answer.firmware], [4753, 3842, "5.03"]);
    assert.equal(answer.attempts, 1);
    assert.equal(answer.rtt, 2);
    assert.equal(answer.startedAt, "2026-01-01T00:00:00.000Z");
    assert.deepEqual(bmc.seen, ["06/3b", "00/01", "06/01", "06/3c"]);
    assert.deepEqual([sent, bmc.open(), took], [9, 0, 18]);
  }
});

const KG = "abcdefghijklmnopqrst";

/** It knows nothing of 2.0, and does not say so. */
const MUTE: Partial<BmcOptions> = { version2: false, form2: "silent", rmcpplus: false };

/** What is wrong, the verdict it must bring, and logins begun. */
const FAULTS: readonly (readonly [string, Partial<BmcOptions>, Asking, BmcVerdict, number])[] = [
  ["a dead BMC", { dead: true }, {}, "unreachable", 0],
  ["garbage to everything", { noise: Buffer.from("what?") }, {}, "protocol-error", 0],
  ["1.5 only", { version2: false }, {}, "no-ipmi2", 0],
  ["1.5 only, refusing the 2.0 form", { version2: false, form2: 0xcc }, {}, "no-ipmi2", 0],
  ["1.5 only, silent at the 2.0 form", MUTE, {}, "silent", 6],
  ["an unknown user, told", {}, { user: "nobody" }, "wrong-user", 1],
  ["an unknown user, told long", { errorLength: null }, { user: "nobody" }, "wrong-user", 1],
  ["an unknown user, met by silence", { unknownUser: "silent" }, { user: "nobody" }, "silent", 8],
  ["a wrong password", {}, { password: "nope" }, "wrong-password", 3],
  ["a Kg that we do not have", { kg: hex(KG) }, {}, "wrong-kg", 2],
  ["another Kg", { kg: hex(KG) }, { kg: "other" }, "wrong-kg", 2],
  ["RAKP 4 that says 0f", { rakp4Status: 0x0f }, {}, "wrong-password", 1],
  ["no free slot", { openStatus: { "*": 1 } }, {}, "no-slots", 6],
  ["no free slot, told short", { openStatus: { "*": 1 }, errorLength: 2 }, {}, "no-slots", 6],
  ["no slot for the role", { rakp2Status: 0x0b }, {}, "no-slots", 3],
  ["no suite of ours", { suites: [8] }, {}, "cipher-refused", 2],
  ["no suite of ours, told short", { suites: [15], errorLength: 2 }, {}, "cipher-refused", 2],
  ["the role refused at Open Session", { openStatus: { "*": 9 } }, {}, "privilege-refused", 4],
  ["USER only, told at RAKP 2", limited(2), {}, "privilege-refused", 2],
  ["USER only, told later", limited(2, null), {}, "privilege-refused", 2],
  ["busy for ever", busy(0xc0, Infinity), {}, "busy", 3],
  ["a firmware update", busy(0xd1, Infinity), {}, "busy", 3],
  ["no such command", busy(0xc1, Infinity), {}, "protocol-error", 1],
  ["an unspecified error", busy(0xff, Infinity), {}, "protocol-error", 1],
  ["a MAC that is cut short", { macLength: -1 }, {}, "protocol-error", 6],
  ["a status nobody knows", { rakp2Status: 0x77 }, {}, "protocol-error", 1],
  ["a session always forgotten", { rakp2Status: 0x02 }, {}, "protocol-error", 6],
];

for (const [what, fault, asking, verdict, logins] of FAULTS) {
  test(`${what} is ${verdict}`, async () => {
    const { answer, bmc, took } = await ask(fault, asking);
    assert.equal(answer.verdict, verdict, answer.detail);
    assert.equal(answer.power, null);
    assert.equal(answer.attempts, logins);
    assert.equal(bmc.counts.opens, fault.rmcpplus === false ? 0 : logins);
    assert.equal(bmc.open(), verdict === "wrong-kg" ? 2 : 0);
    // After a RAKP 2 of another password nothing is sent in that login.
    if (asking.password !== undefined) assert.equal(bmc.counts.rakp3, 0);
    assert.ok(took <= 60_000);
  });
}

test("a suite that found no free session is requested again 5 s after the other session ended", async () => {
  const { took } = await ask({ openStatus: { "*": 1 }, openTimes: 1 }, {});
  assert.ok(took >= 5000, String(took));
});

/** What is odd but must not hide the power state: the suite used, and logins begun. */
const ODD: readonly (readonly [string, Partial<BmcOptions>, Asking, number, number])[] = [
  ["only suite 3", { suites: [3], listed: [3] }, {}, 3, 1],
  ["only suite 17, listed", { suites: [17], listed: [17] }, {}, 17, 1],
  ["only suite 17, not told", { suites: [17], silent54: true }, {}, 17, 2],
  ["17 listed but refused with 11", { suites: [3] }, {}, 3, 2],
  ["17 refused with 04 in two bytes", { suites: [3], suiteStatus: 4, errorLength: 2 }, {}, 3, 2],
  ["17 refused with 0a", { suites: [3], suiteStatus: 0x0a }, {}, 3, 2],
  ["17 refused with 12", { suites: [3], suiteStatus: 0x12 }, {}, 3, 2],
  ["3 refused with 01", { suites: [17], silent54: true, suiteStatus: 1 }, {}, 17, 3],
  ["no slot free, once", { openStatus: { "*": 1 }, openTimes: 1 }, {}, 17, 3],
  ["no slot free, twice", { openStatus: { "*": 1 }, openTimes: 2 }, {}, 17, 3],
  ["a session forgotten once", { openStatus: { "*": 2 }, openTimes: 1 }, {}, 17, 2],
  ["busy twice", busy(0xc0, 2), {}, 17, 1],
  ["timeout three times", busy(0xc3, 3), {}, 17, 1],
  ["the late answer to a resend", busy(0xcf, 1), {}, 17, 1],
  ["initialising five times", busy(0xd2, 5), {}, 17, 2],
  ["level by Open Session", { openPrivilege: true }, {}, 17, 3],
  ["one wrong MAC", { wrongMacs: [1] }, {}, 17, 2],
  ["one wrong MAC after a refused suite", { suites: [3], wrongMacs: [1] }, {}, 3, 3],
  ["a MAC that is too long", { macLength: 1 }, {}, 17, 1],
  ["no Device ID", { deviceSilent: true }, {}, 17, 1],
  ["Open Session's level echoed", { echoPrivilege: true }, {}, 17, 1],
  ["a short status", { statusLength: 1 }, {}, 17, 1],
  ["a long status with faults", { statusLength: 4, chassisFlags: 0x18 }, {}, 17, 1],
  ["wrong checksums", { wrongChecksums: true }, {}, 17, 1],
  ["its Kg", { kg: hex(KG) }, { kg: KG }, 17, 1],
  ["a null user", known(""), { user: "", password: "" }, 17, 1],
  ["a password of 20 bytes, given longer", known(LOGIN.user, "x".repeat(20)), long(), 17, 1],
];

for (const [what, odd, asking, suite, logins] of ODD) {
  test(`a BMC with this still tells its power: ${what}`, async () => {
    const { answer, bmc } = await ask(odd, asking);
    assert.equal(answer.verdict, "ok", answer.detail);
    assert.equal(answer.power, "on");
    assert.deepEqual([answer.suite, answer.attempts], [suite, logins]);
    assert.equal(bmc.open(), 0);
  });
}

test("ADMINISTRATOR is asked for first, OPERATOR once after it", async () => {
  for (const odd of [limited(3), limited(3, null), { ...limited(3, 0x0a), errorLength: null }]) {
    const { answer, bmc } = await ask(odd);
    assert.equal(answer.verdict, "ok");
    assert.deepEqual([answer.power, answer.privilege], ["on", "OPERATOR"]);
    assert.deepEqual(bmc.roles, [0x14, 0x13]);
  }
});

test("a BMC whose keys follow Open Session is read as the conductor has to be told to, and asked so has no advice", async () => {
  for (const [options, roles] of [
    [{}, [0x14, 0x14, 0x13]],
    [{ level: "OPERATOR" }, [0x13]],
  ] as const) {
    const { answer, bmc } = await ask({ openPrivilege: true }, { options });
    assert.deepEqual([answer.verdict, answer.power, answer.privilege], ["ok", "on", "OPERATOR"]);
    assert.deepEqual(bmc.roles, roles);
    assert.equal(answer.observations.includes("open-session-level"), roles.length > 1);
  }
});

test("one code that does not fit, anywhere in a login, is held against nobody", async () => {
  for (const slip of [{ wrongMacs: [1] }, { wrongIcvs: [1] }] as const)
    for (const [odd, asking, privilege] of [
      [{}, {}, "ADMINISTRATOR"],
      [{ kg: hex(KG) }, { kg: KG }, "ADMINISTRATOR"],
      [limited(3), {}, "OPERATOR"],
      [{}, { options: { level: "OPERATOR" } }, "OPERATOR"],
    ] as const) {
      const { answer } = await ask({ ...odd, ...slip }, asking);
      assert.deepEqual([answer.verdict, answer.privilege], ["ok", privilege], answer.detail);
      assert.ok(!answer.observations.includes("open-session-level"));
    }
});

test("the user is named first where RAKP 2 says of an unknown name something else", async () => {
  for (const [unknownUser, verdict, likely] of [
    [0x0d, "wrong-user", undefined],
    [0x12, "protocol-error", "user"],
    [0x01, "no-slots", "user"],
    [0x0b, "no-slots", undefined],
  ] as const) {
    const { answer } = await ask({ unknownUser }, { user: "nobody" });
    assert.deepEqual([answer.verdict, answer.likely], [verdict, likely], answer.detail);
    assert.match(answer.detail, /^RAKP 2 returned/);
  }
  const { answer } = await ask({ openStatus: { "*": 1 } });
  assert.equal(answer.likely, undefined);
});

test("a BMC that its list makes silent in a session is read without it, and that is told", async () => {
  for (const listed of [[3], [0, 3, 17], [17], null]) {
    const suites = listed?.filter((id) => id !== 0) ?? [3];
    const silent54 = listed === null;
    const { answer, bmc } = await ask({ silentAfterList: true, silent54, listed, suites });
    assert.deepEqual([answer.verdict, answer.power], ["ok", "on"], answer.detail);
    assert.equal(answer.suite, suites[0]);
    assert.deepEqual(answer.suites, listed);
    assert.ok(answer.observations.includes("silent-after-list"));
    assert.equal(bmc.counts.lists, 1);
  }
});

test("who does not ask for the list before a session has it asked after the reading", async () => {
  for (const [listed, observations] of [
    [
      [0, 3],
      ["suite-0", "sha1-only"],
    ],
    [null, ["suites-not-listed"]],
  ] as const) {
    const options = { suites: () => [3], asksList: false };
    const odd = { silentAfterList: true, silent54: listed === null, listed };
    const { answer, bmc } = await ask(odd, { options });
    assert.deepEqual([answer.verdict, answer.attempts, answer.suite], ["ok", 1, 3]);
    assert.deepEqual([answer.suites, answer.observations], [listed, observations]);
    assert.deepEqual([bmc.counts.lists, bmc.open()], [1, 0]);
  }
});

test("a BMC that is silent in sessions without its list, too, is not told to be so by it", async () => {
  // The first two sessions: the late answer to a resend is not taken for one.
  const { answer } = await ask(busy(0xcf, 12));
  assert.deepEqual([answer.verdict, answer.attempts], ["ok", 3], answer.detail);
  assert.ok(!answer.observations.includes("silent-after-list"));
});

test("a list of suites that says the same piece for ever is asked for two pieces", async () => {
  const { answer, bmc } = await ask({ listRepeats: true, listed: [0, 3, 15, 17] });
  assert.deepEqual([answer.verdict, answer.suites], ["ok", [0, 3, 15]]);
  assert.equal(bmc.counts.lists, 2);
});

test("a BMC that hears one login from each port is logged in to from another", async () => {
  const { answer } = await ask({ portOnce: true, ...busy(0xd1, 1) });
  assert.deepEqual([answer.verdict, answer.power, answer.attempts], ["ok", "on", 2]);
});

test("a dead BMC is told after eight seconds and four datagrams", async () => {
  const { sent, took } = await ask({ dead: true });
  assert.equal(sent, 4);
  assert.ok(took > 7300 && took < 8950, `${took} ms`);
});

test("a repeated message of a login is never sent, so that a touchy BMC is no trouble", async () => {
  for (let seed = 0; seed < 40; seed++) {
    const network = { loss: 0.1, duplicates: 0 };
    const { answer } = await ask({ repeats: "refused" }, { seed, network });
    assert.equal(answer.verdict, "ok", `seed ${seed}: ${answer.detail}`);
  }
});

function long(): Asking {
  return { password: `${"x".repeat(20)}and more` };
}
