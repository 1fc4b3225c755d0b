import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { remove, retryPolicyOf } from "../../../src/systems/ironic-api/remove.ts";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { refuses } from "../../manage/in-memory.ts";
import { type Fault, instead } from "../../support/faulty-service.ts";
import { bothWays, livingIronic, machineOf, NODE } from "./living.ts";

before(() => pauseShorter(0));
after(() => pauseShorter(1));

const HELD = { maintenance: true, maintenance_reason: "look", traits: ["CUSTOM_A"] };
const FREE = { provision_state: "available", automated_clean: false, protected: false };
const NATIVE = { ...FREE, automated_clean: null };

/** Adopts a machine in use. @returns the service and the run */
async function adoptOne(t: TestContext) {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf()]);
  await run.apply();
  return { ironic, run };
}

/** Rolls back one machine with its port: nothing of it was gone, and nothing is left. */
async function takenBack(run: ReturnType<typeof bothWays>): Promise<void> {
  const { done, found, skipped: left } = await run.rollback();
  assert.deepEqual({ done, found, left }, { done: 2, found: 0, left: [] });
}

const KINDS = [
  ["in use", { protected_reason: null }, 5],
  ["in use, held and with traits", HELD, 7],
  ["in use, of an owner", { owner: "a-project", protected_reason: null }, 6],
  ["free", { ...FREE, protected_reason: null }, 4],
  ["free, with automated cleaning", { ...NATIVE, protected_reason: null }, 5],
] as const;

for (const [kind, more, calls] of KINDS)
  test(`an apply killed after any call is rolled back at once, of a machine that is ${kind}`, async (t) => {
    const ironic = await livingIronic(t);
    for (let call = 1; call <= calls; call += 1) {
      const run = bothWays(ironic, [machineOf(more)]);
      let passed = 0;
      const kill = async (point: string): Promise<void> => {
        if (point !== "rest.after") return;
        passed += 1;
        if (passed === call) throw new Error("killed");
      };
      await assert.rejects(run.apply(kill), /killed/);
      const { skipped: left } = await run.rollback();
      assert.deepEqual(left, [], `killed after call ${call}`);
      assert.deepEqual([...ironic.nodes.keys()], []);
    }
  });

/** What the last call of a machine sets, and what its node is before and after it. */
const SETTLED = [
  ["protect", {}, { protected: false }, { protected: true, protected_reason: "a tenant's" }],
  [
    "settle",
    { ...NATIVE, protected_reason: null },
    { automated_clean: false },
    { provision_state: "available", automated_clean: null },
  ],
] as const;

for (const [call, more, was, is] of SETTLED)
  test(`a machine of which ${call} failed, and that was not cleaned on its way, is made good by the next apply`, async (t) => {
    const ironic = await livingIronic(t);
    const run = bothWays(ironic, [machineOf(more)]);
    const states: unknown[] = [];
    ironic.use((made) => {
      states.push(ironic.nodes.get(NODE)?.provision_state);
      return made.startsWith("PATCH") ? { done: false, says: refuses(400, "not today") } : null;
    });
    const first = await run.apply();
    assert.match(first.failed[0]?.reason ?? "", new RegExp(`${call} is refused: 400 not today`));
    assert.ok(!states.some((state) => /clean (wait|ing)/.test(String(state))), states.join());
    assert.deepEqual({ ...ironic.nodes.get(NODE), ...was }, ironic.nodes.get(NODE));
    ironic.use(() => null);
    const { failed, skipped: left, found } = await run.apply();
    assert.deepEqual({ failed, left, found }, { failed: [], left: [], found: 2 });
    assert.deepEqual({ ...ironic.nodes.get(NODE), ...is }, ironic.nodes.get(NODE));
  });

test("an operator who wants a free machine uncleaned is heard once it was loaded, and a rollback takes it back", async (t) => {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf({ ...NATIVE, protected_reason: null })]);
  await run.apply();
  Object.assign(ironic.nodes.get(NODE) ?? {}, { automated_clean: false });
  const again = await run.apply();
  assert.deepEqual([again.failed, again.skipped.length], [[], 1]);
  // One that is cut has forgotten nothing.
  ironic.use(() => ({ done: false, says: null }));
  await run.apply().catch(() => undefined);
  ironic.use(() => null);
  assert.equal((await run.apply()).skipped.length, 1);
  assert.equal(ironic.nodes.get(NODE)?.automated_clean, false);
  await takenBack(run);
});

test("a machine held for no reason is held once, and a call that does not show ends its way", async (t) => {
  const ironic = await livingIronic(t);
  const held = { maintenance: true, maintenance_reason: null };
  const machine = machineOf({ ...held, protected: false, protected_reason: null });
  const isPut = (call: string): boolean => /^PUT .*maintenance$/.test(call);
  const applied = async (fault: Fault | null) => {
    ironic.use((call) => {
      // Somebody ends the maintenance it was made in.
      if (call.endsWith("/ports"))
        Object.assign(ironic.nodes.get(NODE) ?? {}, { maintenance: false });
      return isPut(call) ? fault : null;
    });
    return (await bothWays(ironic, [machine]).apply()).failed;
  };
  assert.deepEqual(await applied(null), []);
  assert.equal(ironic.calls.filter(isPut).length, 1);
  ironic.nodes.clear();
  ironic.ports.clear();
  const [failed] = await applied(instead(202));
  assert.match(failed?.reason ?? "", /^hold was accepted, but has no effect; its node is/);
  assert.equal(ironic.calls.filter(isPut).length, 2);
});

for (const [whose, removed, gone] of [
  ["what a rollback deleted is removed by it", 2, 0],
  ["what somebody else deleted is gone already", 1, 1],
] as const)
  test(`${whose}, though the answer was lost`, async (t) => {
    const { ironic, run } = await adoptOne(t);
    if (gone > 0) ironic.ports.clear();
    const remove = `DELETE /v1/nodes/${NODE}`;
    ironic.use((call) => (call === remove ? { done: true, says: null } : null));
    const { done, found, skipped: left } = await run.rollback();
    assert.deepEqual({ done, found, left }, { done: removed, found: gone, left: [] });
  });

test("a 404 of somebody in between, or without a conductor, takes nothing away", async (t) => {
  const { ironic, run } = await adoptOne(t);
  const absent = { ...instead(404, "default backend - 404"), between: true } as const;
  const alone = { done: false, says: refuses(404, "No valid host was found.") };
  const first = new Set<string>();
  ironic.use((call) => {
    const [method = "", path = ""] = call.split(" ");
    if (!path.startsWith("/v1/nodes/") || first.has(call)) return null;
    first.add(call);
    return method === "DELETE" ? alone : absent;
  });
  await takenBack(run);
  assert.equal(ironic.nodes.size, 0);
});

test("a machine whose BMC died, so that a conductor gave it up, is still ours to take back", async (t) => {
  const { ironic, run } = await adoptOne(t);
  const why = "During sync_power_state, max retries exceeded for node";
  Object.assign(ironic.nodes.get(NODE) ?? {}, {
    ...{ maintenance: true, maintenance_reason: why, fault: "power failure", last_error: why },
  });
  assert.deepEqual((await run.apply()).skipped.length, 0);
  await takenBack(run);
});

test("a rollback waits for a conductor's lock as long as it may, and for those of all machines once", async (t) => {
  const ironic = await livingIronic(t);
  await bothWays(ironic, [machineOf()]).apply();
  const locked = refuses(409, `Node ${NODE} is locked by host lab`);
  ironic.use((call) => (call.startsWith("PUT") ? { done: false, says: locked } : null));
  const asked: number[] = [];
  const { skipped: left } = await remove(ironic.link, machineOf(), new Map(), (tries) => {
    asked.push(tries);
    return tries < 2;
  });
  assert.match(left[0]?.reason ?? "", /^it cannot be deleted: 409 .*locked by host lab/);
  assert.deepEqual(asked, [0, 1, 2]);
  let clock = 0;
  const waits = retryPolicyOf(60_000, () => clock);
  clock = 100_000;
  assert.deepEqual([waits(18), waits(500)], [true, true], "it begins with the first lock");
  clock = 160_000;
  assert.deepEqual([waits(17), waits(18)], [true, false], "no more often than another call");
});
