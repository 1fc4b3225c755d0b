import assert from "node:assert/strict";
import { test } from "node:test";
import type { BmcOptions } from "../../../src/edge/ipmi/testing/index.ts";
import { ipmipower } from "./clients.ts";
import { needsTools } from "./tools.ts";
import { withBmcs } from "./with-farm.ts";

const operator = [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }] as const;
const user = [{ name: "admin", password: "s3cret-Passw0rd", limit: 2 }] as const;

for (const suite of [0, 1, 2, 3, 15, 16, 17])
  test(`FreeIPMI reads the power state of 50 BMCs over cipher suite ${suite}`, async (t) => {
    const found = needsTools("ipmipower");
    const states = Array.from({ length: 50 }, (_, at) => at % 3 === 0);
    const farm = await withBmcs(
      t,
      states.map((power) => ({ power, suites: [suite] })),
      "port 623",
    );
    const ran = await ipmipower(found.ipmipower, farm.addresses, { suite }, "--stat");
    const expected = farm.addresses.map(
      (address, at) => `${address}: ${states[at] ? "on" : "off"}`,
    );
    assert.deepEqual(lines(ran.stdout), expected.toSorted());
  });

test("FreeIPMI needs the Kg of a BMC that has one", async (t) => {
  const found = needsTools("ipmipower");
  const kg = Buffer.from("a-key").toString("hex");
  const farm = await withBmcs(t, [{ kg }], "port 623");
  const say = async (given: string | undefined) =>
    (await ipmipower(found.ipmipower, farm.addresses, { kg: given }, "--stat")).stdout;
  const [address] = farm.addresses;
  assert.equal(await say("a-key"), `${address}: off\n`);
  assert.equal(await say(undefined), `${address}: k_g invalid\n`);
});

test("FreeIPMI switches a machine, and the log has it", async (t) => {
  const found = needsTools("ipmipower");
  const farm = await withBmcs(t, [{ users: operator }], "port 623");
  const [address = ""] = farm.addresses;
  assert.equal(
    (await ipmipower(found.ipmipower, [address], {}, "--on")).stdout,
    `${address}: ok\n`,
  );
  assert.equal(farm.power(address), true);
  assert.deepEqual(
    farm.commands().map(({ address, command }) => ({ address, command })),
    [{ address, command: "on" }],
  );
});

test("FreeIPMI has the same opinion of each fault", async (t) => {
  const faults: readonly [Partial<BmcOptions>, string][] = [
    [{ users: [{ name: "admin", password: "another" }] }, "password invalid"],
    [{ users: [] }, "username invalid"],
    [{ users: [], errorLength: 2 }, "username invalid"],
    [{ users: [], errorLength: null }, "username invalid"],
    [{ suites: [17] }, "cipher suite id unavailable"],
    [{ sessionLimit: 0 }, "BMC busy"],
    [{ version2: false }, "ipmi 2.0 unavailable"],
    [{ openPrivilege: true }, "password invalid"],
    [{ echoPrivilege: true }, "privilege level cannot be obtained for this user"],
    [{ dead: true }, "connection timeout"],
    [{ duplicate: 1 }, "off"],
    [{ silent54: true }, "off"],
    [{ power: true, chassisFlags: 0x18 }, "on"],
  ];
  const found = needsTools("ipmipower");
  const farm = await withBmcs(
    t,
    faults.map(([fault]) => fault),
    "port 623",
  );
  const { stdout } = await ipmipower(found.ipmipower, farm.addresses, {}, "--stat");
  const expected = farm.addresses.map((address, at) => `${address}: ${faults[at]?.[1]}`);
  assert.deepEqual(lines(stdout), expected.toSorted());
});

test("FreeIPMI's opensesspriv gets along with a BMC that hashes Open Session's privilege", async (t) => {
  const found = needsTools("ipmipower");
  const farm = await withBmcs(t, [{ openPrivilege: true }, { echoPrivilege: true }], "port 623");
  const options = ["-W", "opensesspriv", "--stat"];
  const { stdout } = await ipmipower(found.ipmipower, farm.addresses, {}, ...options);
  assert.deepEqual(
    lines(stdout),
    farm.addresses.map((address) => `${address}: off`),
  );
});

test("FreeIPMI may not switch as a user without the level for it, however it is refused", async (t) => {
  const refusals = [{ roleStatus: 9 }, { roleStatus: 10 }, {}].map((one) => ({
    users: user,
    ...one,
  }));
  const found = needsTools("ipmipower");
  const farm = await withBmcs(t, refusals, "port 623");
  const { stdout } = await ipmipower(found.ipmipower, farm.addresses, {}, "--on");
  // It has no word for the third, which opens the session and answers 81 to Set Session Privilege.
  const words = "privilege level cannot be obtained for this user";
  assert.deepEqual(
    lines(stdout),
    farm.addresses.slice(0, 2).map((address) => `${address}: ${words}`),
  );
  assert.deepEqual(farm.commands(), []);
});

function lines(text: string): readonly string[] {
  return text.trimEnd().split("\n").toSorted();
}
