import assert from "node:assert/strict";
import { test } from "node:test";
import { openMux } from "../../../src/edge/ipmi/mux.ts";
import { nativeProbe, SYSTEM_CHANCE, SYSTEM_CLOCK } from "../../../src/edge/ipmi/native.ts";
import { askAll } from "../../../src/edge/ipmi/scheduler.ts";
import type { PowerQuestion, PowerVerdict } from "../../../src/model/power.ts";
import { bigFleet, whyNot623 } from "../../lab/bmc/addresses.ts";
import type { BmcOptions } from "../../lab/bmc/options.ts";
import { startFarmProcess } from "../../lab/bmc/process.ts";

const COUNT = 2000;
const password = "s3cret-Passw0rd";

/** What is wrong with one in a hundred each; none takes the client long. */
const ODD: readonly (readonly [Partial<BmcOptions>, PowerVerdict])[] = [
  [{ users: [{ name: "admin", password: "another" }] }, "wrong-password"],
  [{ users: [{ name: "root", password }] }, "wrong-user"],
  [{ users: [{ name: "admin", password, limit: 2 }] }, "privilege-refused"],
  [{ kg: "6b6579" }, "wrong-kg"],
  [{ users: [{ name: "admin", password, limit: 3 }] }, "ok"],
  [{ suites: [17] }, "ok"],
  [{ openStatus: { "17": 0x04 } }, "ok"],
  [{ busy: { code: 0xc3, times: 3, command: "00/01" } }, "ok"],
];

test("of 2,000 BMCs behind a line that loses 2 % each way, every verdict is right", async (t) => {
  const why = process.env.N2I_FAST === "1" ? "the fast part has no fleets" : await whyNot623();
  if (why !== null) return t.skip(why);
  const fleet = bigFleet(COUNT, 200 + Math.floor(Math.random() * 50)).map((address, at) => {
    const [odd, verdict] = ODD[at % 100] ?? ([{}, "ok"] as const);
    const power = at % 3 === 0;
    const said = verdict === "ok" ? (power ? "on" : "off") : verdict;
    return { said, bmc: { address, power, ...odd } };
  });
  const line = { dropRx: 0.02, dropTx: 0.02, delayMs: 20 };
  const farm = await startFarmProcess({ all: line, bmcs: fleet.map(({ bmc }) => bmc) });
  t.after(farm.stop);
  const mux = openMux(SYSTEM_CHANCE);
  t.after(() => mux.close());
  const questions = fleet.map(({ bmc: { address } }, at) => ({
    ...{ bm_node_ids: [at], address, user: "admin", password: () => password },
  }));
  const expected = new Map(fleet.map(({ said, bmc: { address } }) => [address, said]));
  const environment = { clock: SYSTEM_CLOCK, signal: new AbortController().signal };
  const wrong: string[] = [];
  for await (const reading of askAll(streamed(questions), nativeProbe(mux), environment)) {
    const { address, power, verdict, detail } = reading;
    if (expected.get(address) !== (power ?? verdict))
      wrong.push(`${address}: ${verdict}, ${detail}`);
    expected.delete(address);
  }
  assert.deepEqual(wrong, []);
  assert.equal(expected.size, 0);
  assert.deepEqual(await farm.ask({ do: "commands" }), []);
  const { dropped, received } = await farm.ask({ do: "counts" });
  assert.ok(dropped > received / 50, `${dropped} lost`);
});

async function* streamed(questions: readonly PowerQuestion[]): AsyncGenerator<PowerQuestion, void> {
  yield* questions;
}
