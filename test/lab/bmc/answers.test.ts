import assert from "node:assert/strict";
import { test } from "node:test";
import { QUICK } from "./quick-clock.ts";
import {
  answered,
  CAPABILITIES,
  type Came,
  CIPHER_SUITES,
  isSilent,
  openSession,
  payloadOf,
  rakp1,
} from "./raw.ts";
import { withBmc } from "./with-farm.ts";

const SUITE_3 = [1, 1, 1] as const;
const SUITE_17 = [3, 4, 1] as const;

test("capabilities tell 2.0, the 1.5 types, user names and Kg", async (t) => {
  const bmc = await withBmc(t, { kg: "01", users: [{ name: "", password: "" }] });
  assert.equal(await answer(bmc.address, CAPABILITIES), "000184210300000000");
  bmc.change(bmc.address, { kg: "", users: [{ name: "a", password: "" }] });
  assert.equal(await answer(bmc.address, CAPABILITIES), "000184040300000000");
  bmc.change(bmc.address, { version2: false });
  assert.equal(await answer(bmc.address, CAPABILITIES), "000104040000000000");
  assert.ok(await isSilent(bmc.address, openSession(SUITE_3)));
  bmc.change(bmc.address, { refuse38: 0xcc });
  assert.equal(await answer(bmc.address, CAPABILITIES), "cc");
});

test("cipher suites come 16 bytes at a time, or not at all", async (t) => {
  const bmc = await withBmc(t, { suites: [3, 15, 16, 17], openStatus: { "17": 0x11 } });
  const [first] = await answered(bmc.address, [CIPHER_SUITES]);
  assert.equal(
    payloadOf(first).subarray(7, -1).toString("hex"),
    "01c003014181c00f034080c010034480c0",
  );
  assert.deepEqual(await opened(bmc.address, SUITE_17), { status: 0x11, length: 8 });
  bmc.change(bmc.address, { silent54: true });
  assert.ok(await isSilent(bmc.address, CIPHER_SUITES));
});

test("Open Session is refused with the status of its suite, as short as the BMC likes", async (t) => {
  const bmc = await withBmc(t, { openStatus: { "17": 0x04, "3": 0x12 } });
  assert.deepEqual(await opened(bmc.address, SUITE_17), { status: 0x04, length: 8 });
  bmc.change(bmc.address, { errorLength: 2 });
  assert.deepEqual(await opened(bmc.address, SUITE_3), { status: 0x12, length: 2 });
  bmc.change(bmc.address, { errorLength: null, openStatus: { "*": 0x01 } });
  assert.deepEqual(await opened(bmc.address, SUITE_3), { status: 0x01, length: 36 });
});

test("slots are taken by half open sessions, and free again when they were idle", async (t) => {
  const bmc = await withBmc(t, { sessionLimit: 2 });
  const status = async () => (await opened(bmc.address, SUITE_3)).status;
  assert.deepEqual([await status(), await status(), await status()], [0, 0, 1]);
  assert.equal(bmc.sessions(bmc.address), 2);
  await new Promise<void>((resolve) => void QUICK.after(30_001, resolve));
  assert.equal(await status(), 0);
});

test("RAKP2 names its refusal, or the BMC says nothing to a name it does not know", async (t) => {
  const bmc = await withBmc(t, { users: [{ name: "admin", password: "p", limit: 3 }] });
  const status = async (name: string) => payload(await ask(bmc.address, name)).at(1);
  assert.equal(await status("nobody"), 0x0d);
  assert.equal(await status("admin"), 0);
  assert.equal(await status("a-name-of-17-bytes"), 0x0c);
  bmc.change(bmc.address, { roleStatus: 0x0a });
  assert.equal(await status("admin"), 0x0a);
  bmc.change(bmc.address, { unknownUser: "silent" });
  const session = await newSession(bmc.address);
  assert.ok(await isSilent(bmc.address, rakp1(session, "nobody")));
});

test("a RAKP1 that comes again is refused with 02, or answered with the same RAKP2", async (t) => {
  const bmc = await withBmc(t);
  const [good, again] = await ask(bmc.address, "admin", 2);
  assert.deepEqual([payloadOf(good).at(1), payloadOf(again).at(1)], [0, 2]);
  bmc.change(bmc.address, { repeats: "answered" });
  const [one, two] = await ask(bmc.address, "admin", 2);
  assert.deepEqual(one?.bytes, two?.bytes);
  assert.equal(payloadOf(one).at(1), 0);
});

/** Completion code and data of a session-less 1.5 answer, in hex. */
async function answer(address: string, question: Buffer): Promise<string> {
  const [came] = await answered(address, [question]);
  return came?.bytes.subarray(20, -1).toString("hex") ?? "";
}

async function opened(address: string, suite: readonly [number, number, number]) {
  const response = payload(await answered(address, [openSession(suite)]));
  assert.equal(response[0], 7);
  return { status: response[1], length: response.length };
}

/** What comes to RAKP1 with this name, in a new session. */
async function ask(address: string, name: string, times = 1): Promise<readonly Came[]> {
  const question = rakp1(await newSession(address), name);
  return answered(address, new Array<Buffer>(times).fill(question));
}

/** The BMC's id of a session of suite 3. */
async function newSession(address: string): Promise<Buffer> {
  return payload(await answered(address, [openSession(SUITE_3)])).subarray(8, 12);
}

function payload(came: readonly Came[]): Buffer {
  return payloadOf(came[0]);
}
