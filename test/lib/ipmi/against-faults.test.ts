import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { askAll } from "../../../src/lib/ipmi/index.ts";
import { quickClock } from "../../lab/bmc/quick-clock.ts";
import { withBmcs } from "../../lab/bmc/with-farm.ts";
import { bound } from "../../support/bmc/addresses.ts";

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
