import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { execute } from "../../src/engine/execute.ts";
import type { Leg, Part } from "../../src/engine/part.ts";
import { MigrationError } from "../../src/lib/error.ts";
import type { Change } from "../../src/model/change.ts";
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

const FORWARD = { direction: "forward" } as const;
const BACK = { direction: "back", only: { all: true, selects: () => true } } as const;

const MACHINES = 7;
/** Of two machines each; the last of one. */
const BATCHES = 4;

/** What happened, in its order: lines read, and batches performed by their first machine. */
interface Reporting {
  readonly said: string[];
  /** Resolves once it was said. */
  readonly until: (what: string) => Promise<void>;
}

function telling(): Reporting {
  const said: string[] = [];
  return {
    said,
    async until(what) {
      for (let turns = 0; !said.includes(what); turns += 1) {
        assert.ok(turns < 1000, `nobody says ${what}: ${said.join(", ")}`);
        await turn();
      }
    },
  };
}

const nameOf = (changes: readonly Change[]): string => changes[0]?.machine ?? "";

/** The part in memory, which tells what it performs. */
function tellingPart(of: World, { said }: Reporting, during?: (batch: string) => Promise<void>) {
  const part = memoryPart(of);
  return {
    ...part,
    async perform(changes, hooks) {
      said.push(`perform ${nameOf(changes)}`);
      await during?.(nameOf(changes));
      const outcome = await part.perform(changes, hooks);
      said.push(`kept ${nameOf(changes)}`);
      return outcome;
    },
  } satisfies Part<Change>;
}

/** A leg that tells each line it reads, and fails at one. */
function readingLeg(part: Part<Change>, lines: readonly Line[], { said }: Reporting, failAt = -1) {
  const leg: Leg<Change, Line> = legOf(part, lines, {
    async *lines() {
      try {
        for (const [at, line] of lines.entries()) {
          await turn();
          if (at === failAt) throw new MigrationError("N2I-E112", "the plan changed");
          said.push(`read ${line.machine}`);
          yield [line];
        }
      } finally {
        said.push("closed");
      }
    },
  });
  return leg;
}

function made() {
  const lines = linesFor(MACHINES);
  const of = world();
  before(lines, of);
  return { lines, of, told: telling() };
}

/** Fails the test for a rejection that nobody handles while it runs. */
async function handled(work: () => Promise<void>): Promise<void> {
  const lost: unknown[] = [];
  const note = (reason: unknown): void => void lost.push(reason);
  process.on("unhandledRejection", note);
  try {
    await work();
    for (let turns = 0; turns < 5; turns += 1) await turn();
  } finally {
    process.off("unhandledRejection", note);
  }
  assert.deepEqual(lost, []);
}

test("while a batch is performed the next one is read, and none beyond it", async () => {
  const { lines, of, told } = made();
  const last: { readonly [batch: string]: string } = { m0: "m3", m2: "m5", m4: "m6" };
  // Would wait for ever, were the next batch not read meanwhile.
  const part = tellingPart(of, told, async (batch) => {
    if (last[batch] !== undefined) await told.until(`read ${last[batch]}`);
    for (let turns = 0; turns < 20; turns += 1) await turn();
  });
  const { done } = await execute([readingLeg(part, lines, told)], sessionOf(of), FORWARD);
  assert.equal(done, 3 * MACHINES);
  const { said } = told;
  const performed = said.filter((what) => what.startsWith("perform"));
  assert.deepEqual(performed, ["perform m0", "perform m2", "perform m4", "perform m6"]);
  for (const [batch, beyond] of [
    ["m0", "m4"],
    ["m2", "m6"],
  ])
    assert.ok(said.indexOf(`kept ${batch}`) < said.indexOf(`read ${beyond}`), said.join(", "));
});

test("the way back reads the next batch while one is taken back", async () => {
  const { lines, of, told } = made();
  await execute([legOf(memoryPart(of), lines)], sessionOf(of), FORWARD);
  const part = tellingPart(of, told, async (batch) => {
    // Its changes come last one first.
    if (batch === "m1") await told.until("read m3");
  });
  const { done } = await execute([readingLeg(part, lines, told)], sessionOf(of), BACK);
  assert.equal(done, 3 * MACHINES);
  assert.ok(told.said.indexOf("kept m1") < told.said.indexOf("read m4"), told.said.join(", "));
});

test("a walk that dies at any point, with the next batch half read, goes on and back", async () => {
  let points = 0;
  for (let died = true; died; points += 1) {
    const { lines, of, told } = made();
    const rows = new Map(of.rows);
    const walk = (way: typeof FORWARD | typeof BACK) =>
      execute([readingLeg(tellingPart(of, told), lines, told)], sessionOf(of), way);
    await handled(async () => {
      died = await dies(of, points, () => walk(FORWARD));
    });
    // Whatever it died of, what was read ahead is closed.
    assert.ok(told.said.includes("closed"), `${points}`);
    await walk(FORWARD);
    assert.equal(of.rows.size, rows.size + 2 * MACHINES, `${points}`);
    await walk(BACK);
    assert.deepEqual(of.rows, rows, `back from point ${points}`);
  }
  // Each batch is begun, kept and ended, with a death before and after that; and none at all.
  assert.equal(points, BATCHES * 3 * 2 + 1);
});

test("a batch that cannot be read ahead is told in its turn: the one before it is kept and recorded", async () => {
  const { lines, of, told } = made();
  await handled(async () => {
    const part = tellingPart(of, told, () => told.until("closed"));
    const walk = execute([readingLeg(part, lines, told, 3)], sessionOf(of), FORWARD);
    await assert.rejects(walk, { code: "N2I-E112" });
  });
  assert.deepEqual(
    of.entries.map((entry) => entry.do),
    ["begin", "done"],
  );
  assert.deepEqual([of.rows.has("node:1"), of.rows.has("node:2")], [true, false]);
});

test("of a batch that fails, and the next that cannot be read, the first is told", async () => {
  const { lines, of, told } = made();
  of.rows.set("node:1", { what: "somebody else's" });
  await handled(async () => {
    const part = tellingPart(of, told, () => told.until("closed"));
    const walk = execute([readingLeg(part, lines, told, 3)], sessionOf(of), FORWARD);
    await assert.rejects(walk, { code: "N2I-E300" });
  });
  assert.deepEqual(
    of.entries.map((entry) => entry.do),
    ["begin", "aborted"],
  );
});

test("asked to stop, a walk performs nothing of what was read ahead, and leaves nothing open", async () => {
  const { lines, of, told } = made();
  const part = tellingPart(of, told, () => told.until("read m3"));
  const session = sessionOf(of, () => of.entries.length > 0);
  const { stopped, done } = await execute([readingLeg(part, lines, told)], session, FORWARD);
  assert.deepEqual([stopped, done], [true, 6]);
  assert.equal(told.said.includes("perform m2"), false);
  assert.ok(told.said.includes("closed"));
});
