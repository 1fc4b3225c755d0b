import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../../src/engine/execute.ts";
import { rowsPart } from "../../../src/migrate/apply/parts.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { PlannedMove } from "../../../src/model/nova/host-move.ts";
import type { NovaStep, NovaTarget } from "../../../src/model/nova/nova-plan.ts";
import { fenceLeg, fencePart, rowsBack, rowsLeg } from "../../../src/takeover/steps/host-move.ts";
import { dies, memoryPart, sessionOf, type World, world } from "../../engine/memory-part.ts";
import { smallBatches } from "../../support/batches.ts";

const MACHINES = 9;
const EVERYTHING = { all: true, selects: () => true };
const NONE = { check: () => Promise.resolve(), precondition: () => Promise.resolve() };

const FENCE: NovaStep = {
  ...{ id: "services:1", part: "hosts", table: "services", key: { id: 1 } },
  before: { forced_down: false, disabled_reason: null },
  after: { forced_down: true, disabled_reason: "nova2ironic h1" },
  ...{ machine: null, of: "nova-compute of H1" },
};

/** Each machine's compute node and its tenant; the first is one Nova was working on. */
const LINES = Array.from({ length: MACHINES }, (_, at): PlannedMove => {
  const [uuid, id] = [`m${at}`, at + 1];
  const task_state = at === 0 ? "powering-off" : null;
  const step = (table: "compute_nodes" | "instances", more: Row, cleared: Row): NovaStep => ({
    ...({ id: `${table}:${id}`, part: "hosts", table, key: { id } } as const),
    ...{ before: { host: "H1", ...more }, after: { host: "H2", ...cleared } },
    ...{ machine: uuid, of: uuid },
  });
  return {
    ...{ uuid, from: "H1", to: "H2", verdict: "move", instance: `i${at}`, task_state },
    findings: [],
    steps: [step("compute_nodes", {}, {}), step("instances", { task_state }, { task_state: null })],
  };
});

async function* lines(): AsyncGenerator<readonly PlannedMove[]> {
  yield LINES;
}

const PLAN = { sha256: "p", lines, manifest: { fence: [FENCE] } };

function made(): World {
  const of = world();
  for (const { id, before } of [FENCE, ...LINES.flatMap(({ steps }) => steps)])
    if (before !== null) of.rows.set(id, before);
  return of;
}

/** Nova's rows in memory: none of them waits for others. */
function memory(of: World): Pick<NovaTarget, "inspect" | "perform"> {
  const { inspect, perform } = memoryPart(of);
  return {
    inspect: (steps) => inspect(steps) as ReturnType<NovaTarget["inspect"]>,
    perform: (steps, hooks) => perform(steps, { ...hooks, ended: () => false }),
  };
}

/** A takeover as `host takeover` walks it, and the rollback of all of it. */
async function forward(of: World): Promise<void> {
  const reached = memory(of);
  const fence = fenceLeg(fencePart(reached, reached.perform), PLAN);
  await execute([{ ...fence, ...NONE }], sessionOf(of), { direction: "forward" });
  const rows = rowsLeg(rowsPart(reached), PLAN);
  await execute([{ ...rows, ...NONE }], sessionOf(of), { direction: "forward" });
}

async function back(of: World): Promise<void> {
  const reached = memory(of);
  const way = { direction: "back", only: EVERYTHING } as const;
  const rows = rowsBack(rowsPart(reached), PLAN);
  const { skipped: left } = await execute([{ ...rows, ...NONE }], sessionOf(of), way);
  assert.deepEqual(left, []);
  const fence = fenceLeg(fencePart(reached, reached.perform), PLAN);
  await execute([{ ...fence, ...NONE }], sessionOf(of), way);
}

const rowsOf = (of: World) => [...of.rows].toSorted(([one], [other]) => (one < other ? -1 : 1));

/** What a request that was taken for lost left does not come back. */
function taken(): World {
  const of = made();
  of.rows.set("instances:1", { host: "H1", task_state: null });
  return of;
}

for (const direction of ["forward", "back"] as const)
  test(`a takeover that dies ${direction} at any entry of its journal, or around any commit, goes on and comes back`, async (t) => {
    smallBatches(t);
    const after = made();
    await forward(after);
    let points = 0;
    for (let died = true; died; points += 1) {
      const of = made();
      if (direction === "back") await forward(of);
      const work = (): Promise<void> => (direction === "forward" ? forward(of) : back(of));
      died = await dies(of, points, work);
      const moment = structuredClone({ rows: of.rows, entries: of.entries });
      // No machine is there in part, and none is moved before the fence stands.
      for (const { steps } of LINES) {
        const hosts = new Set(steps.map(({ id }) => of.rows.get(id)?.host));
        assert.equal(hosts.size, 1, `${points}`);
        if (hosts.has("H2")) assert.equal(of.rows.get(FENCE.id)?.forced_down, true, `${points}`);
      }
      await work();
      assert.deepEqual(rowsOf(of), rowsOf(direction === "forward" ? after : taken()), `${points}`);
      of.rows.clear();
      for (const [id, row] of moment.rows) of.rows.set(id, row);
      of.entries.splice(0, of.entries.length, ...moment.entries);
      await back(of);
      const first = of.rows.get("instances:1")?.task_state;
      assert.ok(first === null || direction === "forward", `${points}`);
      of.rows.set("instances:1", { host: "H1", task_state: null });
      assert.deepEqual(rowsOf(of), rowsOf(taken()), `back from ${points}`);
    }
    // The fence's batch and three of machines, each begun, kept and ended with a death before and after; and none.
    assert.equal(points, 4 * 6 + 1);
  });
