import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { withActing } from "../../src/cli/wire/acting.ts";
import { loadMappings } from "../../src/cli/wire/documents.ts";
import { openRoad } from "../../src/cli/wire/road.ts";
import { inRun, openPlan, sealOf } from "../../src/cli/wire/run.ts";
import { apply } from "../../src/core/apply/apply.ts";
import { runs } from "../hostile/cli.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, loadedRows } from "./truth.ts";

/** Loads a run's plan but for a machine that answers otherwise when it is asked once more. */
async function applyWithout(one: Scene, uuid: string): Promise<void> {
  await inRun(one.run, "apply", { create: false }, async (run) => {
    const { header, lines, footer } = await openPlan(`${one.run}/plan.jsonl`);
    const seal = await sealOf(run, undefined, header.key);
    const words = { ironicDb: one.ironic[1] ?? "" };
    const road = await openRoad(words, loadMappings(), { readOnly: false }, () => undefined);
    try {
      await withActing(run, road, header, seal, { check: false }, (acting) =>
        apply(lines(), footer.sha256, {
          ...acting,
          progress: () => undefined,
          recheck: (machines) => {
            const found = machines.filter((machine) => machine.uuid === uuid);
            return Promise.resolve(
              new Map(found.map(({ bm_node_id }) => [bm_node_id, "is off by now"])),
            );
          },
        }),
      );
    } finally {
      await road.close();
    }
  });
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
  await ends(0, one.start("rollback", ALL));
  assert.equal(await loadedRows(one), 2);
});

test("a machine that was left out is this run's once a later apply loads it", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
  if (one === null) return;
  await applyWithout(one, fleetUuid(2));
  await ends(0, one.start("apply", YES));
  assert.equal(await loadedRows(one), 6);
  await ends(0, one.start("rollback", ALL));
  assert.equal(await loadedRows(one), 0);
});
