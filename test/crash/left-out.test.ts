import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { withActing } from "../../src/cli/wire/acting.ts";
import { loadMappings } from "../../src/cli/wire/documents.ts";
import { openRoad } from "../../src/cli/wire/road.ts";
import { inRun, openPlan, sealOf } from "../../src/cli/wire/run.ts";
import { type Acting, type Applied, apply } from "../../src/core/apply/apply.ts";
import { runs } from "../hostile/cli.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, loadedRows } from "./truth.ts";

/** Loads a run's plan but for a machine that answers otherwise when it is asked once more. */
async function applyWithout(one: Scene, uuid: string): Promise<void> {
  await applyAsking(one, () => (machines) => {
    const found = machines.filter((machine) => machine.uuid === uuid);
    return Promise.resolve(new Map(found.map(({ bm_node_id }) => [bm_node_id, "is off by now"])));
  });
}

/** Loads a run's plan, and asks its machines once more before that. */
async function applyAsking(
  one: Scene,
  recheck: (signal: AbortSignal) => NonNullable<Acting["recheck"]>,
): Promise<Applied | undefined> {
  let applied: Applied | undefined;
  await inRun(one.run, "apply", { create: false }, async (run) => {
    const { header, lines, footer } = await openPlan(`${one.run}/plan.jsonl`);
    const seal = await sealOf(run, undefined, header.key);
    const words = { ironicDb: one.ironic[1] ?? "" };
    const road = await openRoad(words, loadMappings(), { readOnly: false }, () => undefined);
    try {
      await withActing(run, road, header, seal, { check: false }, async (acting) => {
        applied = await apply(lines(), footer.sha256, {
          ...{ ...acting, progress: () => undefined },
          recheck: recheck(acting.signal),
        });
      });
    } finally {
      await road.close();
    }
  });
  return applied;
}

test("a machine that was left out of a load is not this run's when another run loads it", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
  if (one === null) return;
  const at = ["--run", join(one.folder, "other"), ...one.ironic];
  await runs(0, ["extract", ...at.slice(0, 2), ...one.source]);
  await runs(0, ["plan", ...at, ...one.plan, "--beside-others"]);
  await applyWithout(one, fleetUuid(2));
  assert.equal(await loadedRows(one), 4);
  await runs(0, ["apply", ...at, ...YES]);
  assert.equal(await loadedRows(one), 6);
  await ends(0, one.does("rollback", ALL));
  assert.equal(await loadedRows(one), 2);
});

test("a machine that was left out is this run's once a later apply loads it", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
  if (one === null) return;
  await applyWithout(one, fleetUuid(2));
  await ends(0, one.does("apply", YES));
  assert.equal(await loadedRows(one), 6);
  await ends(0, one.does("rollback", ALL));
  assert.equal(await loadedRows(one), 0);
});

test("Ctrl-C while machines are asked once more ends the asking, and none of them is loaded", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
  if (one === null) return;
  const status = process.exitCode;
  const applied = await applyAsking(one, (signal) => async () => {
    process.emit("SIGINT");
    assert.ok(signal.aborted);
    return new Map();
  });
  process.exitCode = status;
  assert.equal(applied?.stopped, true);
  assert.equal(await loadedRows(one), 0);
  await ends(0, one.does("apply", YES));
  assert.equal(await loadedRows(one), 6);
});
