import assert from "node:assert/strict";
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
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { YES } from "./matrix.ts";
import { ends, loadedRows } from "./truth.ts";

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
