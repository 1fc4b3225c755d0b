import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { inspectBack, type Scope } from "../../src/engine/back.ts";
import { execute } from "../../src/engine/execute.ts";
import { MigrationError } from "../../src/lib/error.ts";
import type { Change } from "../../src/model/change.ts";
import type { Row } from "../../src/model/machine.ts";
import { holdsLater } from "../support/seeded.ts";
import {
  before,
  dies,
  type Line,
  legOf,
  linesFor,
  memoryPart,
  sessionOf,
  type World,
  world,
} from "./memory-part.ts";

const ALL = { all: true, selects: () => true };

function there(of: World): readonly (readonly [string, Row])[] {
  return [...of.rows].sort(([one], [other]) => (one < other ? -1 : 1));
}

function apply(of: World, lines: readonly Line[], excluded?: ReadonlyMap<string, string>) {
  return execute([legOf(memoryPart(of), lines)], sessionOf(of), { direction: "forward", excluded });
}

function rollback(
  of: World,
  lines: readonly Line[],
  scope: Scope<Line> = ALL,
  excluded?: Map<string, string>,
) {
  const way = { direction: "back", only: scope, excluded } as const;
  return execute([legOf(memoryPart(of), lines)], sessionOf(of), way);
}

/** A fresh world with what stands in it before anything is done. */
function made(machines: number) {
  const lines = linesFor(machines);
  const of = world();
  before(lines, of);
  return { lines, of, first: there(of), last: there(of).length + 2 * machines };
}

const MACHINES = 5;

test("a walk makes every change, and makes none the second time", async () => {
  const { lines, of, last } = made(MACHINES);
  assert.equal((await apply(of, lines)).done, 3 * MACHINES);
  assert.equal(there(of).length, last);
  const { done, found } = await apply(of, lines);
  assert.deepEqual([done, found], [0, 3 * MACHINES]);
});

for (const direction of ["forward", "back"] as const)
  test(`a walk ${direction} that dies at any point goes on, and can be taken back`, async () => {
    let points = 0;
    for (let point = 0; ; point += 1) {
      const { lines, of, first, last } = made(MACHINES);
      if (direction === "back") await apply(of, lines);
      const work = () => (direction === "forward" ? apply(of, lines) : rollback(of, lines));
      const died = await dies(of, point, work);
      const resumed = structuredClone({ rows: of.rows, entries: of.entries });
      await work();
      assert.equal(there(of).length, direction === "forward" ? last : first.length, `${point}`);
      // Or back at once, from the moment of death.
      of.rows.clear();
      for (const [id, row] of resumed.rows) of.rows.set(id, row);
      of.entries.splice(0, of.entries.length, ...resumed.entries);
      await rollback(of, lines);
      assert.deepEqual(there(of), first, `back from point ${point}`);
      points += 1;
      if (!died) break;
    }
    // Three batches, each begun, kept and ended, with a death before and after that; and none at all.
    assert.equal(points, 3 * 3 * 2 + 1);
  });

test("what another run made is found, not ours, and stays on the way back, also after a death at a commit", async () => {
  // At the sixth step, the first batch is committed, and the journal has its rows but not its end.
  for (const point of [-1, 5]) {
    const { lines, of, first } = made(3);
    of.rows.set("node:1", { what: "node", at: 1 });
    const died = await dies(of, point, async () => {
      const { done, found } = await apply(of, lines);
      assert.deepEqual([done, found], [8, 1]);
    });
    assert.equal(died, point === 5);
    if (died) assert.ok(of.rows.size > first.length + 1, "the first batch is committed");
    await rollback(of, lines);
    assert.ok(of.rows.has("node:1"));
    assert.equal(of.rows.size, 3 + 1);
  }
});

test("what somebody changed since is left and listed, and its machine stays", async () => {
  const { lines, of } = made(3);
  await apply(of, lines);
  of.rows.set("node:1", { what: "node", at: 99 });
  const { skipped: left, unchanged: stays, done } = await rollback(of, lines);
  assert.deepEqual(left, [{ id: "node:1", reason: "was changed" }]);
  assert.deepEqual([...stays], [["m1", "node:1 was changed"]]);
  assert.equal(done, 8);
});

test("where ours was taken back, what another run made stays", async () => {
  const { lines, of } = made(3);
  await apply(of, lines);
  await rollback(of, lines, { all: false, selects: (line: Line) => line.machine === "m1" });
  of.rows.set("node:1", { what: "node", at: 1 });
  await rollback(of, lines);
  assert.deepEqual([of.rows.has("node:0"), of.rows.has("node:1")], [false, true]);
});

test("a row that is left again and again stands in the journal once, and is still taken back in the end", async () => {
  const { lines, of, first } = made(3);
  await apply(of, lines);
  of.rows.set("node:1", { what: "node", at: 99 });
  const told = (): readonly (readonly [readonly string[], readonly string[]])[] =>
    of.entries.flatMap((entry) =>
      entry.do === "undone" ? [[entry.conflicts, entry.settled] as const] : [],
    );
  for (const _ of [1, 2, 3]) assert.equal((await rollback(of, lines)).skipped.length, 1);
  assert.deepEqual(
    told().flatMap(([conflicts]) => conflicts),
    ["node:1"],
  );
  of.rows.set("node:1", { what: "node", at: 1 });
  await rollback(of, lines);
  assert.deepEqual(
    told().flatMap(([, settled]) => settled),
    ["node:1"],
  );
  assert.deepEqual(there(of), first);
});

test("a machine that is left out is not ours, whoever makes it later", async () => {
  const { lines, of, first } = made(3);
  await apply(of, lines, new Map([["m1", "its BMC says off"]]));
  assert.equal(of.rows.has("node:1"), false);
  of.rows.set("node:1", { what: "node", at: 1 });
  await rollback(of, lines);
  assert.deepEqual(there(of).length, first.length + 1);
  of.rows.delete("node:1");
  await apply(of, lines);
  await rollback(of, lines);
  assert.deepEqual(there(of), first);
});

test("an excluded machine stays whole, and a later rollback takes it", async () => {
  const { lines, of, first } = made(3);
  await apply(of, lines);
  await rollback(of, lines, ALL, new Map([["m1", "nova says otherwise"]]));
  assert.deepEqual([of.rows.has("node:1"), of.rows.has("node:2")], [true, false]);
  await rollback(of, lines);
  assert.deepEqual(there(of), first);
});

test("a change that others need waits, and is made once they let go", async () => {
  const { lines, of, last } = made(2);
  of.needed.add("moved:1");
  const { done, skipped: left } = await apply(of, lines);
  assert.deepEqual([done, left], [5, [{ id: "moved:1", reason: "is needed" }]]);
  of.needed.clear();
  await apply(of, lines);
  assert.equal(there(of).length, last);
  assert.deepEqual(of.rows.get("moved:1"), { host: "new" });
});

test("inspecting the way back writes nothing, and says what it meets", async () => {
  const { lines, of } = made(2);
  await apply(of, lines);
  of.rows.set("port:0", { what: "port", at: 7 });
  of.rows.delete("node:1");
  const [was, entries] = [there(of), of.entries.length];
  const said: string[] = [];
  const assumed: string[] = [];
  const assume = (some: readonly Change[]) => assumed.push(...some.map(({ id }) => id));
  const leg = legOf({ ...memoryPart(of), assume }, lines);
  for await (const batch of inspectBack(leg, of.entries, ALL))
    for (const { state } of batch) said.push(`${state.id} ${state.is}`);
  // What is back already, or stays, makes no room for what waits on it.
  assert.deepEqual(assumed.sort(), ["moved:0", "moved:1", "node:0", "port:1"]);
  assert.deepEqual(said.sort(), [
    ...["moved:0 before", "moved:1 before", "node:0 before", "node:1 after"],
    ...["port:0 other", "port:1 before"],
  ]);
  assert.deepEqual([there(of), of.entries.length], [was, entries]);
});

test("a precondition that fails stops everything before the first write", async () => {
  const { lines, of, first } = made(2);
  const refusal = new MigrationError("N2I-E300", "another target");
  const leg = legOf(memoryPart(of), lines, { precondition: () => Promise.reject(refusal) });
  await assert.rejects(execute([leg], sessionOf(of), { direction: "forward" }), refusal);
  assert.deepEqual(there(of), first);
  of.rows.set("node:0", { what: "node", at: 0 });
  await apply(of, lines);
  await rollback(of, lines);
  assert.ok(of.rows.has("node:0"), "what was there after the refusal is another run's");
});

test("a leg that is refused after one it is reported with made changes says how many", async () => {
  const { lines, of } = made(2);
  const refusal = new MigrationError("N2I-E310", "a nova-compute reported");
  const second = legOf(memoryPart(of, "second"), lines, {
    precondition: () => Promise.reject(refusal),
  });
  const first = legOf(memoryPart(of), lines);
  const both = execute([first, second], sessionOf(of), { direction: "forward" });
  await assert.rejects(both, (error: unknown) => {
    assert.ok(error instanceof MigrationError);
    assert.deepEqual(
      [error.code, /stopped after 6 rows: N2I-E310/.test(error.message)],
      ["N2I-E301", true],
    );
    return true;
  });
});

test("asked to stop, a walk finishes its batch and begins no other, of no leg", async () => {
  const { lines, of, last } = made(MACHINES);
  const session = sessionOf(of, () => of.entries.length > 0);
  const legs = ["memory", "second"].map((name) => legOf(memoryPart(of, name), lines));
  const { stopped, done } = await execute(legs, session, { direction: "forward" });
  assert.deepEqual([stopped, done], [true, 6]);
  assert.ok(of.entries.every((entry) => !("part" in entry) || entry.part === "memory"));
  await apply(of, lines);
  assert.equal(there(of).length, last);
});

type Happening =
  | { readonly do: "apply" | "rollback"; readonly dies: number | null }
  | { readonly do: "out"; readonly machine: number }
  | { readonly do: "node"; readonly machine: number }
  | { readonly do: "theirs" | "touched"; readonly machine: number };

const machine = fc.nat({ max: 3 });
const dead = fc.option(fc.nat({ max: 14 }));
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("apply" as const), dies: dead }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("rollback" as const), dies: dead }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("out" as const), machine }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("node" as const), machine }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("theirs" as const), machine }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("touched" as const), machine }) },
);

async function happens(of: World, lines: readonly Line[], what: Happening): Promise<void> {
  const id = "machine" in what ? `node:${what.machine}` : "";
  switch (what.do) {
    case "apply":
    case "rollback": {
      const work = () => (what.do === "apply" ? apply(of, lines) : rollback(of, lines));
      await dies(of, what.dies ?? -1, () => refused(work()));
      return;
    }
    case "out":
      await refused(apply(of, lines, new Map([[`m${what.machine}`, "left out"]])));
      return;
    case "node":
      await rollback(of, lines, {
        all: false,
        selects: ({ machine }) => machine === `m${what.machine}`,
      });
      return;
    case "theirs":
      if (!of.rows.has(id)) of.rows.set(id, { what: "node", at: what.machine });
      return;
    case "touched":
      if (of.rows.has(id)) of.rows.set(id, { what: "node", at: -1 });
      return;
  }
}

/** A load that meets what somebody else put in its way is refused: that is as it should be. */
async function refused(work: Promise<unknown>): Promise<void> {
  await work.catch((cause: unknown) => {
    if (!(cause instanceof MigrationError)) throw cause;
    assert.match(cause.code, /N2I-E30[01]/);
  });
}

test("whatever happens to a run, a rollback leaves what was before, and of others' what they did", async () => {
  await holdsLater(400, fc.array(happening, { maxLength: 12 }), async (story) => {
    const { lines, of, first } = made(4);
    const others = story.some(({ do: what }) => what === "theirs" || what === "touched");
    for (const what of story) await happens(of, lines, what);
    await rollback(of, lines);
    const begun = new Map(first);
    for (const [id, row] of there(of)) {
      const was = begun.get(id);
      if (was !== undefined) assert.deepEqual(row, was, id);
      // Only a node that somebody else made or touched may be there still.
      else assert.ok(others && id.startsWith("node:"), `${id} is there still`);
    }
    for (const [id] of first) assert.ok(of.rows.has(id), `${id} is lost`);
  });
});
