import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Ran, runs } from "../hostile/cli.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, killedAt, loadedRows, statusOf } from "./truth.ts";

const MACHINES = 4;
const ROWS = 2 * MACHINES;

interface Two extends Scene {
  /** The same over the same machines by another run. */
  readonly other: (status: number, command: string, words: readonly string[]) => Promise<Ran>;
}

/** Two runs, both planned while Ironic held none of the machines. */
async function twoRuns(t: TestContext): Promise<Two> {
  const one = await scene("sqlite", t, fleet(MACHINES));
  const at = ["--run", join(one.folder, "other")];
  await runs(0, ["extract", ...at, ...one.source]);
  await runs(0, ["plan", ...at, ...one.ironic, ...one.plan]);
  return {
    ...one,
    other: (status, command, words) => runs(status, [command, ...at, ...one.ironic, ...words]),
  };
}

test("a run that was rolled back takes nothing that another run loaded since", async (t) => {
  const two = await twoRuns(t);
  await ends(0, two.does("apply", YES));
  await ends(0, two.does("rollback", ALL));
  await two.other(0, "apply", YES);
  const { out } = await ends(0, two.does("rollback", ALL));
  assert.equal(out, "Rollback: 0 rows removed, 0 gone already, 0 left.\n");
  await ends(0, two.does("rollback", ["--node", fleetUuid(1), ...YES]));
  assert.equal(await loadedRows(two), ROWS);
  await t.test("not even after it found them in an apply of its own", async () => {
    await ends(0, two.does("apply", YES));
    await ends(0, two.does("rollback", ALL));
    assert.equal(await loadedRows(two), ROWS);
  });
  await two.other(0, "verify", []);
});

test("a plan refused as stale is refused again, and does not own what it met", async (t) => {
  const two = await twoRuns(t);
  await two.other(0, "apply", YES);
  const set = (maintenance: boolean): Promise<unknown> =>
    two.sql((db) =>
      db("nodes")
        .where({ uuid: fleetUuid(3) })
        .update({ maintenance }),
    );
  await set(true);
  const digest = await two.digest();
  for (const _ of ["once", "again"]) {
    const { err } = await ends(4, two.does("apply", YES));
    assert.match(err, /N2I-E300 1 rows stand in the plan's way/);
  }
  assert.match((await statusOf(two)).apply, /: 0 rows created in 0 batches$/);
  await set(false);
  await ends(0, two.does("apply", YES));
  await ends(0, two.does("rollback", ALL));
  await set(true);
  assert.equal(await two.digest(), digest);
});

test("an apply killed over rows another run loaded does not take them for its own", async (t) => {
  const two = await twoRuns(t);
  await two.other(0, "apply", YES);
  await killedAt(two, "commit.after:1", "apply", YES);
  await ends(0, two.does("apply", YES));
  await ends(0, two.does("rollback", ALL));
  assert.equal(await loadedRows(two), ROWS);
});
