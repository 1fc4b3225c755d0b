import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import type { Entry } from "../../../src/model/journal.ts";
import { createRestGuard } from "../../../src/systems/ironic-api/guard.ts";
import { finish, type GuardedNode } from "../../../src/window/finish/finish-part.ts";
import { refuses } from "../../manage/in-memory.ts";
import { instead } from "../../support/faulty-service.ts";
import { CLEAR, FREE, finishingIn, PLANNED } from "../../window/handover/guarded.ts";
import { type Living, livingIronic } from "./living.ts";

type Finishing = Parameters<typeof finish>[1];

const HELD = { maintenance: true, maintenance_reason: "look at its disk" };

/** Machines of a plan: how each was planned, what else Ironic says of it, and what finish makes of it. */
const MACHINES = [
  { row: PLANNED, becomes: CLEAR },
  { row: PLANNED, seen: { protected_reason: "mine" }, becomes: { automated_clean: null } },
  { row: PLANNED, seen: { automated_clean: true }, becomes: { ...CLEAR, automated_clean: true } },
  { row: { ...PLANNED, ...HELD }, seen: HELD, becomes: { automated_clean: null } },
  { row: FREE },
  { row: FREE, seen: { automated_clean: false } },
] as const;
const CALLS = MACHINES.filter((machine) => "becomes" in machine).length;

const uuidOf = (at: number): string => `e0000000-0000-4000-8000-00000000000${at}`;

async function world(t: TestContext) {
  const ironic = await livingIronic(t);
  const nodes = MACHINES.map(({ row }, at): GuardedNode => {
    const id = uuidOf(at);
    return { id, bm_node_id: at, row: { ...row, uuid: id }, asSite: false };
  });
  const entries: Entry[] = [];
  const finishing: Finishing = {
    ...finishingIn(entries),
    guard: createRestGuard(ironic.link.service, (await loadMappings()).rest, 8),
    lockWait: 0,
  };
  async function* plan(): AsyncGenerator<readonly GuardedNode[]> {
    yield nodes;
  }
  const reset = (): void => {
    entries.length = 0;
    ironic.calls.length = 0;
    for (const [at, { row, ...more }] of MACHINES.entries())
      ironic.nodes.set(uuidOf(at), {
        ...{ ...row, uuid: uuidOf(at), reservation: null, driver: "ipmi" },
        ...("seen" in more && more.seen),
      });
  };
  reset();
  return {
    ...{ ironic, reset },
    finish: (more: Partial<Finishing> = {}) => finish(plan(), { ...finishing, ...more }),
    undo: () => finish(plan(), finishing, true),
  };
}

const kept = ({ nodes }: Living) => structuredClone([...nodes.values()]);

test("over REST finish clears what this tool set and nothing else, in a call each, and its undo puts exactly that back", async (t) => {
  const at = await world(t);
  const before = kept(at.ironic);
  const { changed, fine, held, skipped: left } = await at.finish();
  assert.deepEqual([changed, fine, held, left], [CALLS, MACHINES.length - CALLS, 1, []]);
  const after = before.map((node, index) => {
    const machine = MACHINES[index];
    return machine !== undefined && "becomes" in machine ? { ...node, ...machine.becomes } : node;
  });
  assert.deepEqual(kept(at.ironic), after);
  assert.equal(at.ironic.calls.length, CALLS);
  assert.equal((await at.finish()).changed, 0);
  assert.equal(at.ironic.calls.length, CALLS);
  const back = await at.undo();
  assert.deepEqual([back.changed, back.skipped], [CALLS, []]);
  assert.deepEqual(kept(at.ironic), before);
});

const LOST = [
  ["was done", { done: true, says: null }],
  ["was not done", { done: false, says: null }],
  ["met a proxy with nobody behind it", { done: false, says: { status: 503, text: "" } }],
  ["met a conductor's lock", { done: false, says: refuses(409, "Node is locked by host lab") }],
] as const;
for (const [what, fault] of LOST)
  test(`a call of finish whose answer was lost and that ${what} is looked into and leaves no machine behind`, async (t) => {
    const at = await world(t);
    await at.finish();
    const after = kept(at.ironic);
    at.reset();
    const met = new Set<string>();
    at.ironic.use((call) => {
      if (!call.startsWith("PATCH") || met.has(call)) return null;
      met.add(call);
      return fault;
    });
    const { changed, skipped: left } = await at.finish();
    assert.deepEqual([changed, left, met.size], [CALLS, [], CALLS]);
    assert.deepEqual(kept(at.ironic), after);
    assert.equal(at.ironic.calls.length, fault.done ? CALLS : 2 * CALLS);
  });

test("what somebody set while an answer of finish was lost stays", async (t) => {
  const at = await world(t);
  const first = `PATCH /v1/nodes/${uuidOf(0)}`;
  at.ironic.use((call) => {
    if (call !== first || at.ironic.calls.filter((one) => one === first).length > 1) return null;
    Object.assign(at.ironic.nodes.get(uuidOf(0)) ?? {}, { protected_reason: "mine" });
    return { done: false, says: null };
  });
  await at.finish({ lockWait: 2 });
  const own = at.ironic.nodes.get(uuidOf(0));
  assert.deepEqual([own?.protected, own?.protected_reason], [true, "mine"]);
});

test("a machine whose call is refused is left and named, the others are cleared, and the next finish clears it", async (t) => {
  const at = await world(t);
  at.ironic.fail(`PATCH /v1/nodes/${uuidOf(1)}`, { done: false, says: refuses(400, "not today") });
  const { changed, skipped: left } = await at.finish();
  assert.equal(changed, CALLS - 1);
  const told = left.map(({ uuid, reason: why }) => `${uuid} ${why}`);
  assert.deepEqual(told, [`${uuidOf(1)} it is refused: 400 not today`]);
  at.ironic.use(() => null);
  const again = await at.finish();
  assert.deepEqual([again.changed, again.skipped], [1, []]);
});

test("a role that may not write ends finish before anything is cleared", async (t) => {
  const at = await world(t);
  const before = kept(at.ironic);
  const denied = { done: false, says: refuses(403, "Access was denied") };
  at.ironic.fail(/^PATCH/, denied);
  await assert.rejects(at.finish({ inFlight: 8 }), { code: "N2I-E211" });
  assert.deepEqual(kept(at.ironic), before);
  at.ironic.fail(`PATCH /v1/nodes/${uuidOf(1)}`, denied);
  const { broke, changed } = await at.finish({ inFlight: 2 });
  // The other call of the two may have made room for the next before the refusal came.
  assert.deepEqual([broke?.code, [1, 2].includes(changed)], ["N2I-E301", true]);
});

test("a call of finish, or of its undo, that is answered with 200 and not made is told of its machine", async (t) => {
  const at = await world(t);
  const before = kept(at.ironic);
  at.ironic.fail(/^PATCH/, instead(200));
  const there = await at.finish();
  assert.equal(there.skipped.length, CALLS);
  for (const { reason: why } of there.skipped)
    assert.match(why ?? "", /accepted 3 times without effect/);
  assert.deepEqual(kept(at.ironic), before);
  at.ironic.use(() => null);
  await at.finish();
  at.ironic.fail(/^PATCH/, instead(200));
  const back = await at.undo();
  assert.equal(back.skipped.length, CALLS);
  at.ironic.use(() => null);
  await at.undo();
  assert.deepEqual(kept(at.ironic), before);
});
