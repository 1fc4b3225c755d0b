import assert from "node:assert/strict";
import { test } from "node:test";
import { ONE_BY_ONE, type Pace } from "../../../src/engine/window-part.ts";
import { releasedNodes } from "../../../src/window/handover/hand-over.ts";
import { release } from "../../../src/window/handover/handover.ts";
import { CONDUCTOR, ironic } from "./world.ts";

const PACE: Pace = { ...ONE_BY_ONE, inFlight: 2, deadline: 100_000, maxFailures: 1 };
type World = ReturnType<typeof ironic>;
const handedOver = (world: World) => release("forward", world.plan(), world.releasing(), PACE);
const staged = (world: World) =>
  release("back", world.plan(), world.releasing(), { ...ONE_BY_ONE, lockWait: 60_000 });
const told = (some: readonly { readonly uuid: string; readonly reason: string | null }[]) =>
  some.map(({ uuid, reason }) => [uuid, reason]);

test("a machine whose conductor died is waited for until another one has it", async () => {
  const world = ironic(2, { takes: 2 });
  await handedOver(world);
  world.change("n1", { taker: { hostname: "other", alive: false }, last_error: null });
  world.at(20, () => world.change("n1", { taker: null }));
  const found = await handedOver(world);
  assert.deepEqual([found.made, found.done, found.trouble], [0, 2, []]);
  assert.ok(world.now() >= 20_000);
  world.change("n2", { taker: { hostname: null, alive: false } });
  const { trouble } = await handedOver(world);
  const why = "the conductor that took it over is no longer in Ironic";
  assert.deepEqual(told(trouble), [["n2", `no conductor took it over in 100 s: ${why}`]]);
});

test("a machine no living conductor would take stays staged, and ends it", async () => {
  for (const [conductors, says] of [
    [[], /^there is no conductor$/],
    [[{ ...CONDUCTOR, alive: false }], /^no conductor is alive: lab$/],
    [[{ ...CONDUCTOR, group: "rack7" }], /^there is no conductor$/],
    [[{ ...CONDUCTOR, drivers: ["redfish"] }], /^no live conductor has ipmi: lab$/],
  ] as const) {
    const world = ironic(3, { takes: 1 });
    world.conductors(...conductors);
    const { made, trouble } = await handedOver(world);
    assert.deepEqual([made, world.entries, trouble.length], [0, [], 1]);
    assert.equal(trouble[0]?.state, "staged");
    assert.match(trouble[0]?.reason ?? "", says);
  }
});

test("when the last conductor dies nothing is waited for, and the same command goes on", async () => {
  const world = ironic(6, { takes: 10 });
  const other = { ...CONDUCTOR, hostname: "other" };
  world.conductors(CONDUCTOR, other);
  world.at(12, () => world.conductors({ ...CONDUCTOR, alive: false }, other));
  world.at(15, () => world.conductors({ ...CONDUCTOR, alive: false }));
  const first = await handedOver(world);
  assert.deepEqual(first.notices, ["conductor lab died", "conductor other died"]);
  assert.deepEqual([first.made, first.done, first.waiting], [4, 2, 0]);
  for (const { state, reason: why } of first.trouble)
    assert.deepEqual([state, why], ["failed", "no conductor is alive: lab"]);
  world.conductors(CONDUCTOR);
  const second = await handedOver(world);
  assert.deepEqual([second.made, second.done, second.trouble], [2, 6, []]);
});

test("what a conductor says of a machine it took over is told, and ends nothing", async () => {
  const console = "Failed to start console while taking over the node";
  const world = ironic(3, { takes: 1, says: { n1: console } });
  const made = await handedOver(world);
  assert.deepEqual([made.made, made.done, made.trouble], [3, 3, []]);
  assert.deepEqual(told(made.noted), [["n1", `a conductor reports: ${console}`]]);
  assert.equal(made.noted[0]?.state, "done");
});

test("a machine that is not taken over comes with what the conductor's log says of it", async () => {
  const world = ironic(1, { takes: 1_000_000 });
  const ended = "2026-01-01 00:00:02.000 7 ERROR futurist _sync_local_state: ansible";
  world.at(2, () => world.logs("2026-01-01 00:00:02.000 7 INFO nothing of it", ended));
  const { trouble, notices } = await handedOver(world);
  assert.deepEqual(trouble[0]?.log, [ended]);
  assert.deepEqual(notices, [`takeover of all machines fails: ${ended}`]);
});

test("what was released is staged again, but for a machine that is in another's maintenance", async () => {
  const world = ironic(3, { takes: 1 });
  await handedOver(world);
  world.hold("n2", "fans broken");
  const { made, trouble } = await staged(world);
  assert.equal(made, 2);
  assert.deepEqual(told(trouble), [["n2", "in maintenance: fans broken"]]);
  assert.deepEqual([...releasedNodes(world.entries)], ["n2"]);
  assert.equal((await staged(world)).made, 0);
});

test("a machine a conductor works on is staged again when it lets go, or named with its conductor", async () => {
  const world = ironic(4, { takes: 1 });
  await handedOver(world);
  world.reserve("n1", "lab");
  world.reserve("n3", "rack7-conductor");
  world.at(30, () => world.reserve("n1", null));
  const { made, trouble } = await staged(world);
  assert.equal(made, 3);
  assert.deepEqual(told(trouble), [["n3", "rack7-conductor is working on it"]]);
  assert.equal(trouble[0]?.fix, "Run the same command again.");
  assert.deepEqual([...releasedNodes(world.entries)], ["n3"]);
});
