import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../src/demo/create-tables.ts";
import { ofThisPart } from "../crash/points.ts";
import { type PlannedCloud, plannedCloud, withoutIds } from "./planned.ts";
import { sameRows } from "./rows.ts";

/** Flavors are the first batch, hosts of machines the second, what these share the third; the machines' own points lie between. */
const COMMITS = [1, 2, 3].flatMap((n) => [`nova.commit.before:${n}`, `nova.commit.after:${n}`]);
const BETWEEN = ["begin.before:1", "commit.before:1", "commit.after:1", "done.after:1"];
const APPLYING = [
  // The run's journal begins, then it says which nova it acts on.
  ...["open.before:1", "open.after:1", "target.before:1", "target.after:1"],
  ...[1, 2, 3].flatMap((n) =>
    ["begin.before", "begin.after", "done.before", "done.after"].map((at) => `nova.${at}:${n}`),
  ),
];
const UNDOING = [1, 2, 3].flatMap((n) =>
  ["undo.before", "undo.after", "undone.before", "undone.after"].map((at) => `nova.${at}:${n}`),
);
const ENGINES: readonly (readonly [Engine, readonly string[], readonly string[]])[] = [
  ["sqlite", [...APPLYING, ...COMMITS, ...BETWEEN], [...UNDOING, ...COMMITS]],
  ["mysql", COMMITS, COMMITS],
  ["postgresql", COMMITS, COMMITS],
];
const ALL = ["rollback", "--all"];

async function ends(status: number, ran: ReturnType<PlannedCloud["act"]>): Promise<void> {
  const { status: found, out, err } = await ran;
  assert.equal(found, status, `${out}${err}`);
}

/** The points this part of the tests has, each with its number. */
function here(points: readonly string[]): readonly (readonly [at: number, point: string])[] {
  const named = points.map((name, at) => ({ name, at }));
  return ofThisPart(named).map(({ name, at }) => [at, name]);
}

for (const [engine, applying, undoing] of ENGINES)
  test(`on ${engine}, killed at any point, an apply goes on, and a rollback goes back or on`, async (t) => {
    const made = await plannedCloud(engine, t);
    if (made === null) return;
    const { act, copy, now, isAsBefore } = made;
    await ends(0, act(["apply"], undefined, copy("undisturbed")));
    const after = await now();
    await ends(0, act(ALL, undefined, `${made.folder}/undisturbed`));
    await isAsBefore();
    for (const [at, point] of here(applying)) {
      const [first, second] = [copy(`on-${at}`), copy(`back-${at}`)];
      await ends(128, act(["apply"], `${point}:kill`, first));
      await ends(0, act(["apply"], undefined, first));
      const found = await now();
      sameRows(withoutIds(found.nova), withoutIds(after.nova));
      sameRows(withoutIds(found.ironic), withoutIds(after.ironic));
      await ends(0, act(ALL, undefined, first));
      await isAsBefore();
      // Around a commit both ways from each point; elsewhere every second one.
      if (at % 2 === 0 && !point.includes("commit")) continue;
      await ends(128, act(["apply"], `${point}:kill`, second));
      await ends(0, act(ALL, undefined, second));
      await isAsBefore();
    }
    for (const [at, point] of here(undoing)) {
      const folder = copy(`undo-${at}`);
      await ends(0, act(["apply"], undefined, folder));
      await ends(128, act(ALL, `${point}:kill`, folder));
      await ends(0, act(ALL, undefined, folder));
      await isAsBefore();
    }
  });
