import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, IpmiError } from "../../../src/lib/ipmi/index.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import { udpBmc } from "./udp-bmc.ts";

const IN_SESSION = ["6/3b", "0/1", "6/1", "6/3c"];

test("a session tells power and device, one command at a time, and is closed once", async (t) => {
  const { bmc, question } = await udpBmc(t, { power: "off" }, { delay: 5 });
  const session = await connect(question.address, question, within(question));
  assert.deepEqual([session.suite, session.level], [17, "ADMINISTRATOR"]);
  const [chassis, device] = await Promise.all([session.chassisStatus(), session.deviceId()]);
  assert.deepEqual(chassis, { power: "off", fault: false });
  assert.deepEqual([device.manufacturer, device.device, device.firmware], [4753, 3842, "9.08"]);
  assert.equal(bmc.logins.open(), 1);
  await Promise.all([session.close(), session.close()]);
  assert.equal(bmc.logins.open(), 0);
  assert.deepEqual(bmc.commands.seen(), IN_SESSION);
  await assert.rejects(session.chassisStatus(), { name: "IpmiError", message: /is closed/ });
});

test("a BMC that refuses a login gives no session, and says why with the verdict", async (t) => {
  const { bmc, question } = await udpBmc(t, { kg: "key" });
  await assert.rejects(
    connect(question.address, question, within(question)),
    (error) => error instanceof IpmiError && error.verdict === "wrong-kg",
  );
  // Without its Kg we have not the keys to close with, and it was logged in to twice.
  assert.equal(bmc.logins.open(), 2);
});

test("an address, a name or a suite that cannot be used is never sent to", async () => {
  const login = { user: "admin", password: () => "s3cret" };
  const incomplete = { name: "IpmiError", verdict: "incomplete" };
  await assert.rejects(connect("255.255.255.255", login), incomplete);
  await assert.rejects(connect("127.0.0.1", { ...login, user: "x".repeat(17) }), incomplete);
  await assert.rejects(connect("127.0.0.1", login, { suite: 0 }), incomplete);
});

test("a command may take its deadline anew, and a refused one leaves the session open", async (t) => {
  const { bmc, question } = await udpBmc(t, { busy: { code: 0xff, times: 1 } }, { delay: 20 });
  const session = await connect(question.address, question, { ...within(question), deadline: 900 });
  t.after(session.close);
  const began = QUICK.now();
  await assert.rejects(session.chassisStatus(), /Get Chassis Status says 0xff: unspecified error/);
  while (QUICK.now() - began < 1200) await session.deviceId();
  assert.equal((await session.chassisStatus()).power, "on");
  assert.equal(bmc.logins.open(), 1);
});

test("when all is to stop nothing is asked any more, and the session can still be closed", async (t) => {
  const { bmc, question } = await udpBmc(t);
  const stop = new AbortController();
  const { signal } = stop;
  const session = await connect(question.address, question, { ...within(question), signal });
  stop.abort();
  await assert.rejects(session.chassisStatus(), { name: "AbortError" });
  await session.close();
  assert.equal(bmc.logins.open(), 0);
  await assert.rejects(connect(question.address, question, { signal }), { name: "AbortError" });
});

/** The BMC's port and clock. */
function within({ port }: { readonly port?: number }) {
  assert.ok(port !== undefined);
  return { port, clock: QUICK };
}
