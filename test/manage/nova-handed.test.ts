import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { novaBackPart } from "../../src/manage/steps/manage-nova-back.ts";
import { runs, start } from "../hostile/cli.ts";
import { instead, isWrite } from "../support/faulty-service.ts";
import { assertIs, backEnds, forwardEnds, giveHardware, undone } from "./nova-expect.ts";
import { ID } from "./nova-memory.ts";
import { manage, NOVA, place, writes } from "./nova-place.ts";
import { back, begun, changeIn, forward, type Scene, scene } from "./nova-ways.ts";
import { BROKEN, DOWN } from "./scene.ts";

test("a server that its user stops and starts while it is watched stays his, and the same command ends it", async (t) => {
  const { cloud, at, how } = await place(t);
  const { node, servers, port, machine } = cloud;
  const is = (status: string, power_state: "power on" | "power off"): void => {
    for (const server of servers.values()) server.status = status;
    for (const one of [node, machine]) one.power_state = power_state;
  };
  let stage: "held" | "in service" | "stopped" | "started" = "held";
  cloud.use((call) => {
    if (stage === "held" && node.driver === "ipmi" && /^DELETE .*maintenance/.test(call))
      stage = "in service";
    else if (stage === "in service" && call.startsWith("GET /v1/nodes")) {
      is("SHUTOFF", "power off");
      stage = "stopped";
    } else if (stage === "stopped" && node.maintenance === true) {
      is("ACTIVE", "power on");
      stage = "started";
    }
  });
  const words = [...manage, ...NOVA, ...at, "-f", "value", "-c", "Why"];
  const ran = await runs(5, words, how);
  assert.equal(stage, "started");
  const held = /power_state is power off, and was .*; it is held in maintenance; not rolled back: /;
  assert.match(ran.out, new RegExp(`${held.source}its user may be using`));
  assertIs({ cloud }, "ipmi", true, 1);
  assert.match(ran.err, /Servers on these nodes may be in use: .* then run the same command/);
  // Turned on by Ironic alone, as somebody may who does not read that: Nova has it as stopped.
  for (const server of servers.values()) server.status = "SHUTOFF";
  const { out } = await runs(5, words, how);
  assert.match(out, /is SHUTOFF, .*; it keeps its own hardware; start server 8\S+ through Nova/);
  assertIs({ cloud }, "ipmi", true, 1);
  is("ACTIVE", "power on");
  // Its user's port is not written any more.
  port.dns_name = "his";
  await runs(0, words, how);
  assert.deepEqual([node.maintenance, node.extra, port.dns_name], [false, { rack: 1 }, "his"]);
  await runs(0, ["rollback", ...at, "--all", "--yes"], how);
  assert.deepEqual([servers.size, node.instance_uuid, port.dns_name], [0, null, "his"]);
  // But for what Nova does to one that somebody turned on behind its back.
  const heard = cloud.heard.splice(0).map((what) => what.slice(0, 15));
  assert.deepEqual([...new Set(heard)], ["stopped by Nova"]);
});

test("what is refused once somebody asked to stop is held, and told as not taken back", async (t) => {
  const { cloud, at, how, before } = await place(t);
  const started = start([...manage, ...NOVA, ...at, "-f", "value", "-c", "Why"], how);
  cloud.use((call) => {
    if (!call.startsWith("POST /servers")) return null;
    started.signal("SIGTERM");
    const refused = instead(400, { badRequest: { message: "not today" } });
    return { ...refused, before: started.said("Stopping after this batch") };
  });
  const ran = await started.ended;
  assert.equal(ran.status, 5, ran.err);
  assert.match(ran.out, /not today.*; not rolled back: the command was stopped before/);
  assertIs({ cloud }, "fake-hardware", true);
  cloud.use(() => null);
  await runs(0, ["rollback", ...at, "--all", "--yes"], how);
  assert.equal(cloud.dump(), before);
});

function endMaintenance({ cloud }: Scene): void {
  Object.assign(cloud.node, { maintenance: false, maintenance_reason: null });
}

/** Behind the exchange of its hardware, and behind the line by which its port is to be bound. */
for (const lines of [9, 10]) {
  const endedEarly = async (t: TestContext) => {
    const at = await begun(t, lines);
    assertIs(at, "ipmi", true);
    endMaintenance(at);
    return at;
  };

  test(`one whose maintenance somebody ended before the command did keeps what its user has: ${lines} lines`, async (t) => {
    const at = await endedEarly(t);
    const { port, servers } = at.cloud;
    const his = { dns_name: "his", "binding:host_id": ID, "binding:vif_type": "other" };
    Object.assign(port, his);
    for (const server of servers.values()) server["OS-EXT-STS:task_state"] = "rebooting";
    const from = writes(at.cloud).length;
    // It is not held, so there is no maintenance to end, and its user may do so.
    assert.deepEqual(await forward(at), []);
    assert.deepEqual({ ...port, ...his }, port);
    assert.deepEqual(writes(at.cloud).slice(from), [`PATCH /v1/nodes/${ID}`]);
    assertIs(at, "ipmi", false);
    assert.deepEqual(at.cloud.heard, []);
  });

  if (lines === 9)
    test("one whose maintenance somebody ended is nobody's to take back, and gets its port bound", async (t) => {
      const at = await endedEarly(t);
      const { rules, node } = at.cloud;
      rules.unbound = true;
      await forwardEnds(
        at,
        /not bind port .*; it keeps its own hardware; it is held in maintenance/,
      );
      const [unasked] = await novaBackPart(at.hands, 1, true).inspect([await changeIn(at)], false);
      assert.deepEqual([unasked?.is, unasked?.inService], ["other", true]);
      assertIs(at, "ipmi", true, 1);
      delete rules.unbound;
      assert.deepEqual(await forward(at), []);
      assert.deepEqual([node.maintenance, at.cloud.port["binding:host_id"]], [false, ID]);
      await undone(at);
    });
}

test("one whose maintenance somebody ends while its port is bound is nobody's to take back", async (t) => {
  const at = await scene(t);
  const { node, servers, rules } = at.cloud;
  rules.unbound = true;
  at.cloud.use((call) => {
    if (/^PUT .*ports/.test(call) && node.driver === "ipmi" && servers.size > 0) endMaintenance(at);
  });
  await forwardEnds(at, /does not bind port .*it is held/);
  at.cloud.use(() => null);
  assertIs(at, "ipmi", true, 1);
  const one = await changeIn(at);
  const part = novaBackPart(at.hands, 1, true);
  const [unasked = assert.fail()] = await part.inspect([one], false);
  assert.deepEqual([unasked.is, unasked.inService], ["other", true]);
  // And where that was looked at before: nothing is begun.
  const seen = { ...unasked, is: "before" } as const;
  const done = await part.perform(one, seen, () => assert.fail("it was begun"));
  assert.deepEqual([done.is, done.inService, servers.size], ["other", true, 1]);
  delete rules.unbound;
  assert.deepEqual(await forward(at), []);
  assert.deepEqual([node.maintenance, at.cloud.heard], [false, []]);
});

test("a machine whose way back died on fake hardware is not let go, whoever gives it its driver", async (t) => {
  const at = await begun(t);
  const { node, servers } = at.cloud;
  const real = { ...node };
  at.cloud.fail(() => servers.size === 0, BROKEN);
  await back(at).catch(() => undefined);
  at.cloud.use(() => null);
  assert.deepEqual([node.driver, node.provision_state], ["fake-hardware", "available"]);
  giveHardware(at, real);
  await backEnds(at, /it is available, but the run left it active/);
  assertIs(at, "ipmi", true);
  await forwardEnds(at, /it stays on fake hardware; it is held/);
  assert.deepEqual(await back(at), []);
  assertIs(at, "ipmi", false);
  assert.deepEqual([node.provision_state, node.extra], ["active", { rack: 1 }]);
});

const MADE = 7;
/** Before its own driver is back, the second time. */
const isHeldAgain =
  ({ cloud }: Scene) =>
  (call: string) =>
    /^PUT .*maintenance$/.test(call) && cloud.servers.size > 0;
const OWN = { protected: true, protected_reason: "a bank" };

function assertProtected(at: Scene, driver = "ipmi", held = false): void {
  assertIs(at, driver, held);
  assert.deepEqual({ ...at.cloud.node, ...OWN }, at.cloud.node);
}
function unprotect({ cloud }: Scene): void {
  Object.assign(cloud.node, { protected: false, protected_reason: null });
}

for (const [what, was, said] of [
  ["that was not protected", {}, OWN],
  ["that was protected for another reason", { ...OWN, protected_reason: "a shop" }, OWN],
] as const)
  test(`who protects a machine ${what} while it stands on fake hardware is believed, and it is unprotected by nobody else`, async (t) => {
    const at = await scene(t);
    Object.assign(at.cloud.node, was);
    at.cloud.once(isHeldAgain(at), () => Object.assign(at.cloud.node, said));
    assert.deepEqual(await forward(at), []);
    assertProtected(at);
    at.cloud.use(() => null);
    const since = at.cloud.calls.length;
    await backEnds(at, /it has changed since: protected.* is .*Change it back first/);
    assert.deepEqual(at.cloud.calls.slice(since).filter(isWrite), []);
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
  assertProtected(at);
  unprotect(at);
  assert.equal(at.cloud.dump(), at.before);
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
  assertProtected(at);
  unprotect(at);
  assert.equal(at.cloud.dump(), at.before);
});

test("a server is not taken from a machine that was protected meanwhile on fake hardware", async (t) => {
  const at = await begun(t, MADE);
  Object.assign(at.cloud.node, OWN);
  await backEnds(
    at,
    /it is protected: unprotect it first; it remains on fake hardware and in maint/,
  );
  assert.equal(at.cloud.servers.size, 1);
  assertProtected(at, "fake-hardware", true);
  unprotect(at);
  await undone(at);
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
  await forwardEnds(at, /another user has since protected it: unprotect it first/);
  assert.ok(at.cloud.calls.every((call) => !call.includes("reset_interfaces")));
  assertProtected(at, "ipmi", true);
  unprotect(at);
  at.cloud.use(() => null);
  await undone(at);
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
