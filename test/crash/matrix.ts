import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { smallBatches } from "../support/batches.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { MACHINES, type Point, rowsOf } from "./points.ts";
import { ends, isRequested, killedAt, statusOf, tellsTheTruth } from "./truth.ts";

export const YES = ["--yes"];
export const ALL = ["--all", "--yes"];

/** A scene with the states `fresh` and `applied`, and the digests of both. */
export interface Prepared extends Scene {
  readonly before: string;
  readonly after: string;
}

/** Plans the fleet in small batches, applies it undisturbed, and keeps both states. */
export async function prepared(
  engine: Engine,
  t: TestContext,
  options: { readonly proxy?: boolean } = {},
): Promise<Prepared> {
  smallBatches(t);
  const made = await scene(engine, t, fleet(MACHINES), options);
  const before = await made.digest();
  await made.save("fresh");
  await ends(0, made.does("apply", YES));
  await ends(0, made.does("verify"));
  await made.connections.gone();
  const after = await made.digest();
  assert.notEqual(after, before);
  await made.save("applied");
  return { ...made, before, after };
}

/** Everything is loaded, whatever came between, by the digest; and the commands say so. */
async function isApplied(scene: Prepared): Promise<void> {
  assert.equal(await scene.digest(), scene.after);
  if (!isRequested(scene)) return;
  await ends(0, scene.does("verify"));
  const { apply, next } = await statusOf(scene);
  assert.match(apply, new RegExp(`: ${rowsOf(3)} rows created in 3 batches$`));
  assert.match(next, / verify /);
}

export async function killApplies(t: TestContext, scene: Prepared, points: readonly Point[]) {
  const { does } = scene;
  for (const point of points)
    await t.test(`killed at ${point.name}, an apply goes on and a rollback goes back`, async () => {
      await scene.restore("fresh");
      await killedAt(scene, point.name, "apply", YES);
      await scene.save("killed");
      await tellsTheTruth(scene, point);
      await ends(0, does("apply", YES));
      await isApplied(scene);

      await scene.restore("killed");
      const { out } = await ends(0, does("rollback", ALL));
      assert.equal(await scene.digest(), scene.before);
      const begun = point.recorded > 0 || point.open;
      assert.match(
        out,
        begun
          ? new RegExp(
              `^Rollback: ${rowsOf(point.kept)} rows removed, \\d+ already deleted, 0 left`,
            )
          : /has not loaded any machine/,
      );
    });
}

export async function killRollbacks(t: TestContext, scene: Prepared, points: readonly Point[]) {
  for (const point of points)
    await t.test(`killed at ${point.name}, a rollback goes on`, async () => {
      await scene.restore("applied");
      await killedAt(scene, point.name, "rollback", ALL);
      await ends(0, scene.does("rollback", ALL));
      assert.equal(await scene.digest(), scene.before);
      if (!isRequested(scene)) return;
      const { apply, next } = await statusOf(scene);
      assert.match(apply, new RegExp(`, ${rowsOf(3)} rows rolled back$`));
      assert.match(next, / plan .*rolled back/);
    });
}
