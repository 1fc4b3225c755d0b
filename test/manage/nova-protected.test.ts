import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../src/lib/json.ts";
import { isWrite } from "../support/faulty-service.ts";
import type { NovaInMemory } from "./nova-memory.ts";
import { back, begun, forward, type Scene, scene } from "./nova-ways.ts";
import { DOWN } from "./scene.ts";

/** Lines of a way there until its server is made. */
const MADE = 7;
/** Before its own driver is back, the second time. */
const isHeldAgain =
  ({ cloud }: Scene) =>
  (call: string): boolean =>
    /^PUT .*maintenance$/.test(call) && cloud.servers.size > 0;
const OWN = { protected: true, protected_reason: "a bank" };

const protection = ({ node }: NovaInMemory): readonly (Json | undefined)[] => [
  node.protected,
  node.protected_reason,
  node.driver,
  node.maintenance,
];
const unprotect = ({ node }: NovaInMemory): void => {
  Object.assign(node, { protected: false, protected_reason: null });
};

for (const [what, was, said] of [
  ["that was not protected", {}, OWN],
  ["that was protected for another reason", { ...OWN, protected_reason: "a shop" }, OWN],
] as const)
  test(`who protects a machine ${what} while it stands on fake hardware is believed, and it is unprotected by nobody else`, async (t) => {
    const at = await scene(t);
    Object.assign(at.cloud.node, was);
    at.cloud.once(isHeldAgain(at), () => Object.assign(at.cloud.node, said));
    assert.deepEqual(await forward(at), []);
    assert.deepEqual(protection(at.cloud), [true, "a bank", "ipmi", false]);
    at.cloud.use(() => null);
    const since = at.cloud.calls.length;
    assert.match(
      (await back(at)).join(),
      /it has changed since: protected.* is .*change it back first/,
    );
    assert.deepEqual(at.cloud.calls.slice(since).filter(isWrite), []);
    assert.deepEqual(at.cloud.heard, []);
  });

test("a machine that somebody protects on its way back is active again, and protected", async (t) => {
  const at = await begun(t);
  const { node, servers } = at.cloud;
  at.cloud.use((call) => {
    const isAdopted = servers.size === 0 && node.provision_state === "active";
    if (isAdopted && call.startsWith("GET ") && node.driver === "fake-hardware")
      Object.assign(node, OWN);
  });
  assert.deepEqual(await back(at), []);
  assert.deepEqual(protection(at.cloud), [true, "a bank", "ipmi", false]);
  unprotect(at.cloud);
  assert.equal(at.cloud.dump(), at.before);
  assert.deepEqual(at.cloud.heard, []);
});

test("a way back that died once its own hardware was back ends, whoever protected it, or has its console on", async (t) => {
  const at = await begun(t);
  const { node, servers } = at.cloud;
  const isLast = (call: string): boolean =>
    servers.size === 0 && node.driver === "ipmi" && /^DELETE .*maint/.test(call);
  at.cloud.fail(isLast, DOWN);
  await assert.rejects(back(at), { code: "N2I-E210" });
  Object.assign(node, { ...OWN, console_enabled: true });
  at.cloud.use(() => null);
  assert.deepEqual(await back(at), []);
  node.console_enabled = false;
  assert.deepEqual(protection(at.cloud), [true, "a bank", "ipmi", false]);
  unprotect(at.cloud);
  assert.equal(at.cloud.dump(), at.before);
});

test("a server is not taken from a machine that was protected meanwhile on fake hardware", async (t) => {
  const at = await begun(t, MADE);
  Object.assign(at.cloud.node, OWN);
  assert.match(
    (await back(at)).join(),
    /it is protected: unprotect it first; it stays on fake hardware, in maintenance/,
  );
  assert.equal(at.cloud.servers.size, 1);
  assert.deepEqual(protection(at.cloud), [true, "a bank", "fake-hardware", true]);
  unprotect(at.cloud);
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.dump(), at.before);
  assert.deepEqual(at.cloud.heard, []);
});

test("a machine that is protected right before its driver is exchanged keeps its driver", async (t) => {
  const at = await scene(t);
  let looks = 0;
  at.cloud.use((call) => {
    if (/^PUT .*ports/.test(call)) looks = 1;
    // The second look once its port is free comes right before the call.
    if (looks > 0 && /^GET .*nodes\/[^/?]*$/.test(call)) {
      looks += 1;
      if (looks === 3) Object.assign(at.cloud.node, OWN);
    }
  });
  assert.match((await forward(at)).join(), /somebody protected it meanwhile: unprotect it first/);
  assert.ok(at.cloud.calls.every((call) => !call.includes("reset_interfaces")));
  assert.deepEqual(protection(at.cloud), [true, "a bank", "ipmi", true]);
  unprotect(at.cloud);
  at.cloud.use(() => null);
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.dump(), at.before);
});

for (const [who, automatic_lessee, lessee] of [
  ["somebody", false, "q"],
  ["Ironic itself", true, null],
] as const)
  test(`a lessee that ${who} gave it on fake hardware ${lessee === null ? "goes" : "stays"}`, async (t) => {
    const at = await scene(t);
    const hasCome = at.cloud.once(isHeldAgain(at), () =>
      Object.assign(at.cloud.node, { lessee: "q", driver_internal_info: { automatic_lessee } }),
    );
    assert.deepEqual(await forward(at), []);
    assert.ok(hasCome());
    assert.deepEqual([at.cloud.node.driver, at.cloud.node.lessee], ["ipmi", lessee]);
  });
