import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { type TestContext, test } from "node:test";
import { askOver } from "../../../src/edge/ipmi/ask.ts";
import type { BmcReading, BmcTarget } from "../../../src/edge/ipmi/index.ts";
import { SESSION_DEFAULTS } from "../../../src/edge/ipmi/session.ts";
import { SYSTEM_CHANCE } from "../../../src/edge/ipmi/talk.ts";
import { openMux } from "../../../src/edge/ipmi/transport.ts";
import { startIpmiSim, startPyghmi } from "../../lab/bmc/sims.ts";
import { needsTools } from "../../lab/bmc/tools.ts";

const password = "s3cret-Passw0rd";

test("our client reads the power of 60 BMCs of OpenIPMI's simulator", async (t) => {
  const found = needsTools("ipmi_sim");
  const bmcs = Array.from({ length: 60 }, (_, at) => ({ power: at % 3 === 0, password }));
  const sim = await startIpmiSim(found.ipmi_sim, bmcs);
  t.after(sim.stop);
  const readings = await Promise.all(
    asking(
      t,
      sim.addresses.map((address) => ({ address })),
    ),
  );
  for (const [at, reading] of readings.entries()) {
    assert.deepEqual([reading.verdict, reading.power], ["ok", at % 3 === 0 ? "on" : "off"]);
    assert.deepEqual([reading.suite, reading.manufacturer, reading.firmware], [3, 4753, "9.08"]);
    assert.deepEqual(reading.observations, ["suites-not-listed"]);
  }
});

test("OpenIPMI's simulator tells our client from a wrong one", async (t) => {
  const found = needsTools("ipmi_sim");
  const kg = "kg-of-the-sim";
  const sim = await startIpmiSim(found.ipmi_sim, [
    { power: true, password },
    { power: true, password, kg },
  ]);
  t.after(sim.stop);
  const [plain = "", keyed = ""] = sim.addresses;
  const readings = await Promise.all(
    asking(t, [
      { address: plain, password: () => "another" },
      { address: plain, user: "nobody" },
      { address: keyed },
      { address: keyed, kg: () => Buffer.from("other") },
      { address: keyed, kg: () => Buffer.from(kg) },
    ]),
  );
  assert.deepEqual(
    readings.map(({ verdict }) => verdict),
    ["wrong-password", "wrong-user", "wrong-kg", "wrong-kg", "ok"],
  );
  assert.deepEqual(
    readings.map(({ kg: set }) => set),
    [false, false, true, true, true],
  );
});

test("each suite our client speaks up to 3 opens a session of OpenIPMI's simulator", async (t) => {
  const found = needsTools("ipmi_sim");
  const sim = await startIpmiSim(found.ipmi_sim, [{ power: true, password }]);
  t.after(sim.stop);
  const [address = ""] = sim.addresses;
  for (const suite of [1, 2, 3]) {
    const [reading] = await Promise.all(asking(t, [{ address }], [suite]));
    assert.deepEqual([reading?.verdict, reading?.suite, reading?.power], ["ok", suite, "on"]);
  }
  const [refused] = await Promise.all(asking(t, [{ address }], [17]));
  assert.equal(refused?.verdict, "cipher-refused");
});

test("our client reads the power of pyghmi's server, busy or not", async (t) => {
  const found = needsTools("pyghmi");
  const bmc = await startPyghmi(found.pyghmi, {
    ...{ power: true, password, busy: { code: 0xc0, times: 2 } },
  });
  t.after(bmc.stop);
  const { address } = bmc;
  // It hears no second login from the port of the first.
  const again = await startPyghmi(found.pyghmi, {
    ...{ power: true, password, busy: { code: 0xd1, times: 1 } },
  });
  t.after(again.stop);
  const [twice] = asking(t, [{ address: again.address }]);
  const [reading] = await Promise.all(asking(t, [{ address }]));
  assert.deepEqual([reading?.verdict, reading?.power, reading?.suite], ["ok", "on", 3]);
  const [silent] = await Promise.all(asking(t, [{ address, user: "nobody" }]));
  assert.equal(silent?.verdict, "silent");
  assert.deepEqual([(await twice)?.verdict, (await twice)?.attempts], ["ok", 2]);
});

/** Asks each, all at once. */
function asking(
  t: TestContext,
  questions: readonly (Partial<BmcTarget> & { readonly address: string })[],
  suites: readonly number[] | null = null,
): readonly Promise<BmcReading>[] {
  const mux = openMux(SYSTEM_CHANCE);
  t.after(mux.close);
  const probe = askOver(mux, {
    ...SESSION_DEFAULTS,
    ...(suites !== null && { suites: () => suites }),
  });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return questions.map((question) =>
    probe({ user: "admin", password: () => password, ...question }, { deadline: 60_000, signal }),
  );
}
