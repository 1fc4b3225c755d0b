import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import { type PlannedCloud, plannedCloud, withoutIds } from "./planned.ts";
import { sameRows } from "./rows.ts";

/** Flavors are the first batch, hosts of machines the second, what these share the third; the machines' own points lie between. */
const ON = ["nova.commit.before:1", "nova.commit.after:2", "nova.commit.before:3"];
const BACK = ["nova.commit.after:1", "nova.commit.before:2", "nova.commit.after:3"];
const BETWEEN = ["begin.before:1", "done.after:1"];
/** Each entry of the journal once; at each batch's own they are in engine/execute.test, on a part in memory. */
const APPLYING = [
  // The run's journal begins, then it says which nova it acts on.
  ...["open.after:1", "target.before:1", "target.after:1"],
  ...["nova.begin.before:1", "nova.begin.after:2", "nova.done.before:3", "nova.done.after:1"],
];
const UNDOING = [
  "nova.undo.before:1",
  "nova.undo.after:2",
  "nova.undone.before:3",
  "nova.undone.after:2",
];
const ENGINES: readonly (readonly [Engine, readonly string[], readonly string[]])[] = [
  ["sqlite", [...APPLYING, ...ON, ...BETWEEN], [...UNDOING, ...BACK]],
  ["mysql", ON, BACK],
  ["postgresql", ON, BACK],
];
const ALL = ["rollback", "--all"];

async function ends(status: number, ran: ReturnType<PlannedCloud["act"]>): Promise<void> {
  const { status: found, out, err } = await ran;
  assert.equal(found, status, `${out}${err}`);
}

for (const [engine, applying, undoing] of ENGINES)
  test(`on ${engine}, killed at any point, an apply goes on, and a rollback goes back or on`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, copy, now, isAsBefore } = made;
    await ends(0, act(["apply"], undefined, copy("undisturbed")));
    const after = await now();
    await ends(0, act(ALL, undefined, `${made.folder}/undisturbed`));
    await isAsBefore();
    for (const [at, point] of applying.entries()) {
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
    for (const [at, point] of undoing.entries()) {
      const folder = copy(`undo-${at}`);
      await ends(0, act(["apply"], undefined, folder));
      await ends(128, act(ALL, `${point}:kill`, folder));
      await ends(0, act(ALL, undefined, folder));
      await isAsBefore();
    }
  });
