import assert from "node:assert/strict";
import { test } from "node:test";
import { startedChangesIn } from "../../src/engine/started.ts";
import { MigrationError } from "../../src/lib/error.ts";
import { dies } from "./memory-part.ts";
import { close, type Doors, doors, open } from "./memory-window.ts";

const DOORS = 5;

function stands(of: Doors): readonly string[] {
  return [...of.at.values()];
}

const ours = (of: Doors) => startedChangesIn(of.entries, "doors");
const whats = (of: Doors, id: string) =>
  of.entries.flatMap((entry) => ("id" in entry && entry.id === id ? [entry.do] : []));

test("each machine is begun in the journal, changed, and ended there; the second walk changes none", async () => {
  const of = doors(3);
  const { ends, said, stopped, broke, inProgress: underWay } = await open(of);
  assert.deepEqual(said, ["d0 open", "d1 open", "d2 open"]);
  assert.deepEqual([stopped, broke, underWay], [false, null, 0]);
  assert.ok(ends.every(({ made }) => made));
  assert.deepEqual(whats(of, "d1"), ["start", "end"]);
  const entries = of.entries.length;
  const second = await open(of);
  assert.ok(second.ends.every(({ made, found }) => !made && found));
  assert.equal(of.entries.length, entries);
});

for (const direction of ["forward", "back"] as const)
  test(`a window ${direction} that dies at any point goes on, and can be taken back`, async () => {
    let points = 0;
    for (let point = 0; ; point += 1) {
      const of = doors(DOORS);
      const first = stands(of);
      if (direction === "back") await open(of);
      const work = () => (direction === "forward" ? open(of) : close(of));
      const died = await dies(of, point, work);
      const resumed = structuredClone({ at: of.at, entries: of.entries });
      await work();
      const all = direction === "forward" ? first.map(() => "open") : first;
      assert.deepEqual(stands(of), all, `on from ${point}`);
      for (const { open: isOpen } of ours(of).values()) assert.equal(isOpen, false, `${point}`);
      // Or back at once, from the moment of death.
      for (const [id, stand] of resumed.at) of.at.set(id, stand);
      of.entries.splice(0, of.entries.length, ...resumed.entries);
      await close(of);
      assert.deepEqual(stands(of), first, `back from ${point}`);
      assert.equal(ours(of).size, 0);
      points += 1;
      if (!died) break;
    }
    // Each machine's two entries and its act, with a death before and after each; and none at all.
    assert.equal(points, DOORS * 3 * 2 + 1);
  });

test("a way back has only machines that were begun, and what they were is as it was then", async () => {
  const of = doors(3);
  of.at.set("d0", "open");
  await open(of);
  await close(of);
  assert.deepEqual(stands(of), ["open", "locked up", "closed"]);
  assert.deepEqual(whats(of, "d1"), ["start", "end", "return", "returned"]);
  assert.deepEqual(whats(of, "d0"), []);
});

test("no more are under way than the pace allows, and each is watched to its end", async () => {
  const of = doors(9);
  of.takes = 5000;
  const { said, inProgress: underWay } = await open(of, { inFlight: 3 });
  assert.deepEqual([of.most, said.length, underWay], [3, 9, 0]);
  assert.equal(whats(of, "d8").join(" "), "start end");
  // Three rounds of three, looked at each second.
  assert.equal(of.now, 15_000);
});

test("calls are made together, as many as the pace has", async () => {
  const of = doors(9);
  of.takes = 1000;
  await open(of, { concurrency: 4, inFlight: 4 });
  assert.equal(of.most, 4);
});

test("one that takes long keeps no other from being begun, as far as the pace goes", async () => {
  const of = doors(4);
  let release = (): void => undefined;
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  of.slow = (id) => (id === "d0" ? slow : id === "d3" ? Promise.resolve(release()) : null);
  const { said, broke } = await open(of, { concurrency: 2, inFlight: 2 });
  // In groups of two the third would wait for the first for ever.
  assert.deepEqual(said.slice(0, 2), ["d1 open", "d2 open"]);
  assert.deepEqual([said.length, broke], [4, null]);
});

test("from one beginning to the next passes the time of the pace", async () => {
  const of = doors(4);
  await open(of, { every: 20_000 });
  const starts = of.entries.flatMap((entry) =>
    entry.do === "start" ? [Date.parse(entry.at)] : [],
  );
  assert.deepEqual(starts, [0, 20_000, 40_000, 60_000]);
});

test("one that is under way for too long has failed, and is begun still", async () => {
  const of = doors(2);
  of.takes = Number.POSITIVE_INFINITY;
  const { said } = await open(of, { inFlight: 2, deadline: 60_000 });
  assert.deepEqual(said, ["d0 does not open", "d1 does not open"]);
  assert.equal(of.now, 60_000);
  assert.deepEqual(
    [...ours(of).values()].map(({ open: isOpen }) => isOpen),
    [true, true],
  );
  // Another walk watches them anew, without beginning them again.
  of.takes = 70_000;
  assert.deepEqual((await open(of, { inFlight: 2, deadline: 60_000 })).said, [
    "d0 open",
    "d1 open",
  ]);
  assert.deepEqual(whats(of, "d0"), ["start", "end"]);
});

test("one under way is looked at as often as the pace says, the last pause over and over", async () => {
  for (const [looks, ends] of [
    [[50, 100, 250], 400],
    [[300], 600],
    [undefined, 1000],
  ] as const) {
    const of = doors(1);
    of.takes = 390;
    await open(of, { deadline: 60_000, ...(looks !== undefined && { pauses: looks }) });
    assert.equal(of.now, ends, String(looks));
  }
});

test("one that is as before though it was begun is begun again, without a further word in the journal", async () => {
  const of = doors(1);
  of.leant.add("d0");
  of.due.set(5000, () => of.leant.clear());
  const { said } = await open(of, { deadline: 60_000 });
  assert.deepEqual([said, whats(of, "d0")], [["d0 open"], ["start", "end"]]);
  assert.ok(of.now >= 5000 && of.now < 10_000);
});

test("one that waits is tried after all others, until it is let go or it took too long", async () => {
  for (const direction of ["forward", "back"] as const) {
    const of = doors(4);
    if (direction === "back") await open(of);
    const go = () => (direction === "forward" ? open : close)(of, { lockWait: 10_000 });
    of.held.set("d0", "a guest");
    of.held.set("d2", "a cat");
    of.due.set(4000, () => of.held.delete("d0"));
    const { ends, said, stopped } = await go();
    assert.equal(ends.length, 4);
    assert.match(said[2] ?? "", /^d0 (open|closed)$/);
    assert.deepEqual([said[3], ends[3]?.position.is, stopped], ["d2 a cat", "waiting", false]);
    assert.equal(of.now, 10_000);
    of.held.clear();
    assert.equal((await go()).ends.filter(({ made }) => made).length, 1);
  }
});

test("asked to stop, it begins no other and watches none, and the same walk goes on", async () => {
  const of = doors(6);
  of.takes = 5000;
  of.stopping = () => of.entries.length >= 2;
  const first = await open(of, { inFlight: 2 });
  assert.deepEqual([first.stopped, first.ends.length, first.inProgress], [true, 0, 2]);
  of.stopping = () => false;
  const second = await open(of, { inFlight: 2 });
  assert.deepEqual([second.stopped, second.ends.length, second.inProgress], [false, 6, 0]);
});

test("asked to stop in the pause before the last, it says that it was", async () => {
  const of = doors(2);
  of.stopping = () => of.now > 0;
  const { stopped, ends } = await open(of, { every: 20_000 });
  assert.deepEqual([stopped, ends.length], [true, 1]);
});

test("asked to stop after the last, nothing was stopped", async () => {
  const of = doors(2);
  of.stopping = () => of.entries.length >= 4;
  assert.equal((await open(of)).stopped, false);
});

test("so many new failures end it, those under way are watched, and one that was known counts not", async () => {
  const of = doors(9);
  of.at.set("d0", "stolen");
  of.takes = 3000;
  of.due.set(1000, () => of.at.set("d2", "stolen"));
  const { ends, said, inProgress: underWay } = await open(of, { inFlight: 3, maxFailures: 1 });
  assert.deepEqual(said, ["d0 stolen", "d2 stolen", "d1 open", "d3 open"]);
  assert.deepEqual(
    ends.map(({ found }) => found),
    [true, false, false, false],
  );
  assert.equal(underWay, 0);
});

test("what somebody changed since is left on the way back, and stays ours", async () => {
  const of = doors(3);
  await open(of);
  of.at.set("d1", "stolen");
  const { said } = await close(of);
  assert.deepEqual(said, ["d2 closed", "d1 stolen", "d0 closed"]);
  assert.deepEqual([...ours(of).keys()], ["d1"]);
});

const BROKEN = new MigrationError("N2I-E200", "the line is down");
const DENIED = new MigrationError("N2I-E211", "may not");

test("what breaks midway is told with how far it came; what is denied before anything was changed, as it is", async () => {
  const of = doors(4);
  of.fails.set("d2", BROKEN);
  const { broke, said } = await open(of);
  assert.deepEqual(
    [broke?.code, broke?.message],
    ["N2I-E301", "open stopped after 2 machines: N2I-E200 the line is down"],
  );
  assert.deepEqual(said, ["d0 open", "d1 open"]);
  for (const [refusal, rejects] of [
    [DENIED, true],
    [BROKEN, false],
  ] as const) {
    const fresh = doors(4);
    fresh.fails.set("d0", refusal);
    if (rejects) await assert.rejects(open(fresh), refusal);
    else assert.equal((await open(fresh)).broke?.code, "N2I-E301");
  }
  // Of several at once the one that leaves most in doubt.
  const both = doors(4);
  both.fails.set("d0", DENIED);
  both.fails.set("d1", BROKEN);
  assert.match((await open(both, { concurrency: 4, inFlight: 4 })).broke?.message ?? "", /E200/);
});

test("a part that changes a machine and did not begin it is a bug, not a machine that is done", async () => {
  const of = doors(1);
  await assert.rejects(open(of, {}, true), /changed d0 and did not begin it/);
});
