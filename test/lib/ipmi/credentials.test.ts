import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isBusy } from "../../../src/lib/ipmi/commands.ts";
import { connect, IpmiError } from "../../../src/lib/ipmi/index.ts";
import { credentials, wipe } from "../../../src/lib/ipmi/login.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { holds } from "../../support/seeded.ts";
import { ask, busy, hex } from "./sim.ts";
import { udpBmc } from "./udp-bmc.ts";

const CASES: readonly (readonly [string, string])[] = [
  ["calvin", "calvin"],
  ["", ""],
  ["12345678901234567890", "12345678901234567890"],
  ["123456789012345678901", "12345678901234567890"],
  ["line\nend", "line"],
  ["line\rend", "line"],
  ["tab\tend", "tab"],
  ["\ttab first", "\ttab first"],
  ["\rend\nrest", "\rend\n"],
  ["\nrest", "\n"],
  ["nul\0end", "nul"],
  ["neunzehn-Zeichen-ööö", "neunzehn-Zeichen-ö\xc3"],
];

for (const [password, read] of CASES) {
  test(`of the password ${JSON.stringify(password)} ipmitool reads ${JSON.stringify(read)}`, () => {
    const wanted = read.endsWith("\xc3")
      ? Buffer.concat([Buffer.from(read.slice(0, -1)), Buffer.from([0xc3])])
      : Buffer.from(read);
    const known = credentials("u", password, null);
    assert.deepEqual([known.password, known.cut], [wanted, read !== password]);
  });
}

test("never more than 20 bytes of a password are used, and they are its first", () => {
  holds(100, fc.string({ unit: "binary", maxLength: 40 }), (text) => {
    const { password: read } = credentials("u", text, null);
    assert.ok(read.length <= 20);
    assert.deepEqual(read, Buffer.from(text).subarray(0, read.length));
  });
});

test("wiped credentials hold zeros", () => {
  const known = credentials("admin", "throwaway", Buffer.from("kg"));
  wipe(known);
  assert.ok(known.password.every((byte) => byte === 0) && known.kg?.every((byte) => byte === 0));
});

type Forms = Pick<BmcOptions, "form2" | "form15">;

/**
 * Whether ipmitool opens a session with a BMC that always answers so. 2.0's form is asked first, 1.5's after an error
 * or silence, and the answer has to have the bit of 2.0.
 * @source ipmitool be11d94 src/plugins/lan/auth.c and lanplus.c, ipmi_get_auth_capabilities_cmd
 */
function isOpened({ form2, form15 }: Forms): boolean {
  return form2 === "answers" || form15 === "has 2.0 bits";
}

/** Errors and answers of every kind, and those that mean that it is busy oftener than by chance. */
const code = fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(0xc0, 0xcc, 0xd1, 0xff));
const forms = fc.record<Forms>({
  form2: fc.oneof(fc.constantFrom<"answers" | "cut">("answers", "cut"), code),
  form15: fc.oneof(
    fc.constantFrom<"answers" | "has 2.0 bits" | "silent" | "cut">(
      ...(["answers", "has 2.0 bits", "silent", "cut"] as const),
    ),
    code,
  ),
});
const isBusyForm = (form: BmcOptions["form2" | "form15"]): boolean =>
  typeof form === "number" && isBusy(form);

test("an error to the first question is never called IPMI 1.5, and what ipmitool opens is read", async () => {
  const seen = new Set<string>();
  const run = fc.asyncProperty(forms, fc.nat(), async (given, seed) => {
    const { answer } = await ask(given, { seed });
    seen.add(answer.verdict);
    const { form2, form15 } = given;
    if (isBusyForm(form2)) return assert.equal(answer.verdict, "busy", answer.detail);
    if (isOpened(given)) return assert.equal(answer.verdict, "ok", answer.detail);
    if (isBusyForm(form15)) return assert.equal(answer.verdict, "busy", answer.detail);
    // Its own word, without an error and without the bit of 2.0, and nothing else.
    if (form15 === "answers") return assert.equal(answer.verdict, "no-ipmi2", answer.detail);
    assert.equal(answer.verdict, "protocol-error", answer.detail);
    const said =
      typeof form2 === "number" ? `returned 0x${form2.toString(16).padStart(2, "0")}` : "truncated";
    assert.ok(answer.detail.includes(said), answer.detail);
  });
  await fc.assert(run, { numRuns: 200, seed: 1 });
  assert.deepEqual([...seen].toSorted(), ["busy", "no-ipmi2", "ok", "protocol-error"]);
});

test("errors to the first questions, and none later, change no reading", async () => {
  const times = fc.integer({ min: 0, max: 3 });
  const run = fc.asyncProperty(forms, times, fc.nat(), async (given, formTimes, seed) => {
    const { answer } = await ask({ ...given, formTimes }, { seed });
    assert.deepEqual([answer.verdict, answer.power], ["ok", "on"], answer.detail);
  });
  await fc.assert(run, { numRuns: 100, seed: 1 });
});

test("a BMC that answers 1.5's form alone, with the bit of 2.0, is read", async () => {
  for (const form2 of ["silent", 0xcc] as const) {
    const { answer } = await ask({ form2, form15: "has 2.0 bits" });
    assert.deepEqual([answer.verdict, answer.power, answer.kg], ["ok", "on", false]);
  }
});

const IN_SESSION = ["06/3b", "00/01", "06/01", "06/3c"];

test("a session tells power and device, one command at a time, and is closed once", async (t) => {
  const { bmc, question } = await udpBmc(t, { power: false }, { delay: 5 });
  const session = await connect(question.address, question, within(question));
  assert.deepEqual([session.suite, session.level], [17, "ADMINISTRATOR"]);
  const [chassis, device] = await Promise.all([session.chassisStatus(), session.deviceId()]);
  assert.deepEqual(chassis, { power: "off", fault: false });
  assert.deepEqual([device.manufacturer, device.device, device.firmware], [4753, 3842, "5.03"]);
  assert.equal(bmc.open(), 1);
  await Promise.all([session.close(), session.close()]);
  assert.equal(bmc.open(), 0);
  assert.deepEqual(bmc.seen, IN_SESSION);
  await assert.rejects(session.chassisStatus(), { name: "IpmiError", message: /is closed/ });
});

test("a BMC that refuses a login gives no session, and says why with the verdict", async (t) => {
  const { bmc, question } = await udpBmc(t, { kg: hex("key") });
  const login = connect(question.address, question, within(question));
  await assert.rejects(
    login,
    (error) => error instanceof IpmiError && error.verdict === "wrong-kg",
  );
  // Without its Kg we have not the keys to close with, and it was logged in to twice.
  assert.equal(bmc.open(), 2);
});

test("an address, a name or a suite that cannot be used is never sent to", async () => {
  const login = { user: "admin", password: () => "s3cret" };
  const incomplete = { name: "IpmiError", verdict: "incomplete" };
  await assert.rejects(connect("255.255.255.255", login), incomplete);
  await assert.rejects(connect("127.0.0.1", { ...login, user: "x".repeat(17) }), incomplete);
  await assert.rejects(connect("127.0.0.1", login, { suite: 0 }), incomplete);
});

test("a command may take its deadline anew, and a refused one leaves the session open", async (t) => {
  const { bmc, question } = await udpBmc(t, busy(0xff, 1), { delay: 20 });
  const session = await connect(question.address, question, { ...within(question), deadline: 900 });
  t.after(session.close);
  const began = QUICK.now();
  const status = session.chassisStatus();
  await assert.rejects(status, /Get Chassis Status returned 0xff: unspecified error/);
  while (QUICK.now() - began < 1200) await session.deviceId();
  assert.equal((await session.chassisStatus()).power, "on");
  assert.equal(bmc.open(), 1);
});

test("when all is to stop nothing is asked any more, and the session can still be closed", async (t) => {
  const { bmc, question } = await udpBmc(t);
  const stop = new AbortController();
  const { signal } = stop;
  const session = await connect(question.address, question, { ...within(question), signal });
  stop.abort();
  await assert.rejects(session.chassisStatus(), { name: "AbortError" });
  await session.close();
  assert.equal(bmc.open(), 0);
  await assert.rejects(connect(question.address, question, { signal }), { name: "AbortError" });
});

/** The BMC's port and clock. */
function within({ port }: { readonly port?: number }) {
  assert.ok(port !== undefined);
  return { port, clock: QUICK };
}
