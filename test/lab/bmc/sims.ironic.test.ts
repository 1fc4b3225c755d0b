import assert from "node:assert/strict";
import { test } from "node:test";
import { ipmipower, ipmitool } from "./clients.ts";
import { startIpmiSim, startPyghmi } from "./sims.ts";
import { needsTools } from "./tools.ts";

const password = "s3cret-Passw0rd";

test("ipmi_sim runs 20 BMCs, whose power a file is", async (t) => {
  const found = needsTools("ipmi_sim", "ipmipower");
  const bmcs = Array.from({ length: 20 }, (_, at) => ({ power: at % 2 === 0, password }));
  const sim = await startIpmiSim(found.ipmi_sim, bmcs);
  t.after(sim.stop);
  sim.setPower(1, true);
  const { stdout } = await ipmipower(
    found.ipmipower,
    sim.addresses,
    {},
    // It takes a shell for each of them: on a busy machine that needs its time.
    ...["--session-timeout=60000", "--retransmission-timeout=5000"],
    ...["-W", "opensesspriv", "--stat"],
  );
  const states = sim.addresses.map((address, at) => `${address}: ${sim.power(at) ? "on" : "off"}`);
  assert.deepEqual(stdout.trimEnd().split("\n").toSorted(), states.toSorted());
  assert.deepEqual([sim.power(0), sim.power(1), sim.power(3)], [true, true, false]);
});

test("ipmi_sim with a Kg lets in who has it", async (t) => {
  const found = needsTools("ipmi_sim", "ipmitool");
  const sim = await startIpmiSim(found.ipmi_sim, [{ power: false, password, kg: "kg-of-the-sim" }]);
  t.after(sim.stop);
  const [address = ""] = sim.addresses;
  const ask = (kg?: string) => ipmitool(found.ipmitool, address, { suite: 3, kg }, "power", "on");
  assert.equal((await ask()).status, 1);
  assert.equal(sim.power(0), false);
  assert.deepEqual(sim.commands(), []);
  assert.equal((await ask("kg-of-the-sim")).stdout, "Chassis Power Control: Up/On\n");
  assert.equal(sim.power(0), true);
  assert.deepEqual(sim.commands(), ["0 power 1"]);
});

test("pyghmi's server answers, and is busy as often as it is told", async (t) => {
  const found = needsTools("pyghmi", "ipmitool");
  const bmc = await startPyghmi(found.pyghmi, {
    ...{ power: true, password, busy: { code: 0xc0, times: 1 } },
  });
  t.after(bmc.stop);
  const ask = () => ipmitool(found.ipmitool, bmc.address, { suite: 3 }, "power", "status");
  assert.match((await ask()).stderr, /Node busy/);
  assert.equal((await ask()).stdout, "Chassis Power is on\n");
});
