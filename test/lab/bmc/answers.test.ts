import assert from "node:assert/strict";
import { test } from "node:test";
import { QUICK } from "./quick-clock.ts";
import { answered, type Came, openSession, payloadOf, rakp1 } from "./raw.ts";
import { withBmc } from "./with-farm.ts";

const SUITE_3 = [1, 1, 1] as const;

test("slots are taken by half open sessions, and free again when they were idle", async (t) => {
  const bmc = await withBmc(t, { sessionLimit: 2 });
  const status = async () => payload(await answered(bmc.address, [openSession(SUITE_3)]))[1];
  assert.deepEqual([await status(), await status(), await status()], [0, 0, 1]);
  assert.equal(bmc.sessions(bmc.address), 2);
  await new Promise<void>((resolve) => void QUICK.after(30_001, resolve));
  assert.equal(await status(), 0);
});

test("a RAKP1 that comes again is refused with 02, or answered with the same RAKP2", async (t) => {
  const bmc = await withBmc(t);
  const [good, again] = await askTwice(bmc.address);
  assert.deepEqual([payloadOf(good).at(1), payloadOf(again).at(1)], [0, 2]);
  bmc.change(bmc.address, { repeats: "answered" });
  const [one, two] = await askTwice(bmc.address);
  assert.deepEqual(one?.bytes, two?.bytes);
  assert.equal(payloadOf(one).at(1), 0);
});

/** What comes to a RAKP1 that is sent twice, in a new session. */
async function askTwice(address: string): Promise<readonly Came[]> {
  const session = payload(await answered(address, [openSession(SUITE_3)])).subarray(8, 12);
  const question = rakp1(session, "admin");
  return answered(address, [question, question]);
}

function payload(came: readonly Came[]): Buffer {
  return payloadOf(came[0]);
}
