import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { onInterrupt } from "../../src/cli/interrupt.ts";
import { ioOf } from "../../src/cli/io.ts";
import { forward } from "../../src/engine/forward.ts";
import type { Leg } from "../../src/engine/part.ts";
import { gather, type Walked } from "../../src/engine/walk.ts";
import type { PlannedMachine, Step } from "../../src/model/plan.ts";
import { ironicLeg } from "../../src/parts/ironic.ts";
import { openBackend } from "../../src/stages/backend.ts";
import { loadMappings } from "../../src/stages/documents.ts";
import { withIronic } from "../../src/stages/ironic-place.ts";
import { inRun, openPlan, sealOf } from "../../src/stages/run.ts";
import { withSession } from "../../src/stages/session.ts";
import { surrounded } from "../../src/stages/surroundings.ts";
import { runs } from "../hostile/cli.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, loadedRows } from "./truth.ts";

/** Loads a run's plan but for a machine that answers otherwise when it is asked once more. */
function applyWithout(one: Scene, uuid: string): Promise<Walked<PlannedMachine> | undefined> {
  return applyAsking(one, () => (machines) => {
    const found = machines.filter((machine) => machine.uuid === uuid);
    return Promise.resolve(new Map(found.map(() => [uuid, "is off by now"])));
  });
}

/** Loads a run's plan, and asks its machines once more before that. */
async function applyAsking(
  one: Scene,
  recheck: (signal: AbortSignal) => NonNullable<Leg<Step, PlannedMachine>["exclude"]>,
): Promise<Walked<PlannedMachine> | undefined> {
  let applied: Walked<PlannedMachine> | undefined;
  await inRun(one.run, "apply", { create: false }, async (run) => {
    const { header, lines, footer } = await openPlan(`${one.run}/plan`);
    const seal = await sealOf(run, undefined, header.key);
    const words = { ironicDb: one.ironic[1] ?? "" };
    const road = await openBackend(
      words,
      await loadMappings(),
      { readOnly: false },
      () => undefined,
    );
    try {
      const world = {
        ...ioOf(process),
        connections: new Map(),
        kept: new Map(),
        window: {},
        tell: () => undefined,
        wait: () => undefined,
        onInterrupt,
      };
      applied = await surrounded(world, () =>
        withSession(run, (session) =>
          withIronic(run, session, road, { header, seal, check: false }, (place) => {
            const { check, precondition } = place;
            const leg = ironicLeg(place.part, { sha256: footer.sha256, lines });
            const exclude = recheck(session.signal);
            return gather(forward({ ...leg, check, precondition, exclude }, session));
          }),
        ),
      );
    } finally {
      await road.close();
    }
  });
  return applied;
}

test("a machine that was left out of a load is not this run's when another run loads it", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
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
  const applied = await applyWithout(one, fleetUuid(2));
  assert.deepEqual(
    applied?.excluded.map(({ line: { uuid, bm_node_id, records }, why }) => [
      uuid,
      bm_node_id,
      records,
      why,
    ]),
    // Its records are told to nobody, and of a fleet that is out they would be kept until the end.
    [[fleetUuid(2), 2, [], "is off by now"]],
  );
  await ends(0, one.does("apply", YES));
  assert.equal(await loadedRows(one), 6);
  await ends(0, one.does("rollback", ALL));
  assert.equal(await loadedRows(one), 0);
});

test("Ctrl-C while machines are asked once more ends the asking, and none of them is loaded", async (t) => {
  const one = await scene("sqlite", t, fleet(3));
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
