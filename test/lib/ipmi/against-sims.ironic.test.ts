import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, openSession, payloadOf } from "../../lab/bmc/raw.ts";
import { type PyghmiBmc, startIpmiSim, startPyghmi } from "../../lab/bmc/sims.ts";
import { needsTools } from "../../lab/bmc/tools.ts";
import { askAllOf, askOne } from "./udp-bmc.ts";

const password = "s3cret-Passw0rd";

test("100 BMCs of ipmi_sim are read as their files say, over suite 3", async (t) => {
  const found = needsTools("ipmi_sim");
  const bmcs = Array.from({ length: 100 }, (_, at) => ({ power: at % 3 === 0, password }));
  const sim = await startIpmiSim(found.ipmi_sim, bmcs);
  t.after(sim.stop);
  const asked = sim.addresses.map((address) => ({ address }));
  const readings = await askAllOf(t, asked);
  assert.deepEqual(
    readings.map(({ verdict, power, suite, privilege }) => [verdict, power, suite, privilege]),
    bmcs.map(({ power }) => ["ok", power ? "on" : "off", 3, "ADMINISTRATOR"]),
  );
});

test("ipmi_sim's refusals are told apart: password, user name, Kg", async (t) => {
  const found = needsTools("ipmi_sim");
  const open = { power: true, password };
  const kg = "kg-of-the-sim";
  const sim = await startIpmiSim(found.ipmi_sim, [
    open,
    open,
    { ...open, kg },
    { ...open, kg },
    { ...open, kg },
  ]);
  t.after(sim.stop);
  const how = [{ password: "guess" }, { user: "nobody" }, { kg }, {}, { kg: "another" }];
  const asked = how.map((login, at) => ({ address: sim.addresses[at] ?? "", ...login }));
  assert.deepEqual(
    (await askAllOf(t, asked)).map(({ verdict, power, kg: has }) => [power ?? verdict, has]),
    [
      ["wrong-password", false],
      ["wrong-user", false],
      ["on", true],
      ["wrong-kg", true],
      ["wrong-kg", true],
    ],
  );
});

test("each suite our client speaks up to 3 opens a session of ipmi_sim, and 17 is refused", async (t) => {
  const found = needsTools("ipmi_sim");
  const sim = await startIpmiSim(found.ipmi_sim, [{ power: true, password }]);
  t.after(sim.stop);
  const [address = ""] = sim.addresses;
  for (const suite of [1, 2, 3]) {
    const reading = await askOne(t, { address }, [suite]);
    assert.deepEqual([reading.verdict, reading.suite, reading.power], ["ok", suite, "on"]);
    // Read once, without a long wait: one BMC answers in time, the last of a hundred may not.
    const { suites, manufacturer, firmware } = reading;
    assert.deepEqual([suites, manufacturer, firmware], [null, 0x1291, "9.08"]);
  }
  assert.deepEqual((await askOne(t, { address })).observations, ["suites-not-listed"]);
  assert.equal((await askOne(t, { address }, [17])).verdict, "cipher-refused");
});

test("ipmi_sim's power is read anew each time, and its 63 slots are given back", async (t) => {
  const found = needsTools("ipmi_sim");
  const sim = await startIpmiSim(found.ipmi_sim, [{ power: false, password }]);
  t.after(sim.stop);
  const [address = ""] = sim.addresses;
  for (const on of [true, false, true]) {
    sim.setPower(0, on);
    const { verdict, power } = await askOne(t, { address });
    assert.deepEqual([verdict, power], ["ok", on ? "on" : "off"]);
  }
  const statuses: (number | undefined)[] = [];
  for (let open = 0; open < 64; open++) {
    const [came] = await answered(address, [openSession([1, 1, 1])]);
    statuses.push(payloadOf(came).at(1));
  }
  assert.deepEqual(statuses, [...new Array<number>(63).fill(0), 1]);
});

test("pyghmi's server is read, busy or with a Kg, and its silence is named", async (t) => {
  const found = needsTools("pyghmi");
  const bmcs: readonly Partial<PyghmiBmc>[] = [
    { power: true },
    { power: false, busy: { code: 0xc0, times: 2 } },
    { power: true, busy: { code: 0xc3, times: 3 } },
    { kg: "a-key" },
    { kg: "a-key" },
    {},
    {},
    { power: true, busy: { code: 0xd1, times: 1 } },
  ];
  const started = await Promise.all(
    bmcs.map((bmc) => startPyghmi(found.pyghmi, { power: false, password, ...bmc })),
  );
  for (const { stop } of started) t.after(stop);
  const how = [{}, {}, {}, { kg: "a-key" }, {}, { password: "guess" }, { user: "nobody" }];
  const asked = started.map(({ address }, at) => ({ address, ...how[at] }));
  const readings = await askAllOf(t, asked);
  assert.deepEqual(
    readings.map(({ verdict, power }) => power ?? verdict),
    ["on", "off", "on", "off", "wrong-kg", "wrong-password", "silent", "on"],
  );
  assert.equal(readings.at(-1)?.attempts, 2);
  assert.deepEqual(readings[0]?.suites, [3]);
});
