import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { askAll } from "../../../src/lib/ipmi/index.ts";
import { quickClock } from "../../lab/bmc/quick-clock.ts";
import { withBmcs } from "../../lab/bmc/with-farm.ts";
import { bound } from "../../support/bmc/addresses.ts";
import { busy } from "./sim.ts";
import { askAllOf } from "./udp-bmc.ts";

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

const password = "s3cret-Passw0rd";
const DATAGRAMS = 20_000;

test("one BMC that floods us spoils the verdict of no other", async (t) => {
  const bmcs = Array.from({ length: 60 }, (_, at) => ({ power: at % 2 === 0 }));
  const farm = await withBmcs(t, bmcs);
  const flooder = await startFlooder(t);
  const places = [flooder.place, ...farm.addresses.map(farm.at)];
  const questions = places.map((place, at) => ({
    ...{ at, ...place, user: "admin", password: () => password },
  }));
  const wrong: string[] = [];
  const options = {
    schedule: { deadline: 6000, startsPerSecond: 10_000 },
    // What the flood keeps in the sockets may come many turns later.
    clock: quickClock(Infinity, 2000),
  };
  for await (const { targets, reading } of askAll(questions, options)) {
    const [{ at }] = targets;
    const expected = at === 0 ? null : at % 2 === 1 ? "on" : "off";
    if (reading.power !== expected) wrong.push(`${at}: ${reading.verdict}, ${reading.detail}`);
  }
  assert.deepEqual(wrong, []);
  assert.equal(flooder.sent(), DATAGRAMS);
});

/** A BMC that answers the first datagram it hears with a flood. */
async function startFlooder(t: TestContext) {
  const socket = await bound("127.0.0.1", 0);
  t.after(() => socket.close());
  const datagram = Buffer.from("0600ff07".padEnd(128, "a5"), "hex");
  let sent = 0;
  socket.once("message", (_, { port, address }) => {
    const pour = (): void => {
      // Without a callback: what the system does not take is not waited for.
      for (const due = Math.min(sent + 50, DATAGRAMS); sent < due; sent++)
        socket.send(datagram, port, address);
      if (sent < DATAGRAMS) setImmediate(pour);
    };
    pour();
  });
  const { address, port } = socket.address();
  return { place: { address, port }, sent: () => sent };
}
