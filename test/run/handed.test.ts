import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import { handoverOf } from "../../src/window/runner/run-state.ts";

/** A plan that finds machines of an earlier run in Ironic, and of which one more is loaded. */
async function* lines() {
  for (const [at, verdict] of ["unchanged", "unchanged", "create"].entries()) {
    const row = { uuid: `n${at}`, provision_state: at === 2 ? "active" : "available" };
    yield [{ verdict, bm_node_id: at, records: [{ resource: "node", row }] }];
  }
}

/** What the run of these plans stages, and what of it is released. */
function handed(...plans: readonly string[]) {
  const entries = plans.map((plan) => ({
    ...{ do: "begin", part: "ironic", plan, from: 0, to: 3, staged: true, at: "", by: "" },
  }));
  const plan = { footer: { sha256: plans.at(-1) }, lines };
  // Nothing else of them is looked at.
  return handoverOf(plan as never, entries as unknown as readonly Entry[]);
}

test("a run stages what it loads, and an earlier plan of it too, not what another run loaded before it", async () => {
  assert.deepEqual(await handed("one"), { staged: 1, released: 0, takeOvers: 1 });
  assert.deepEqual(await handed("one", "two"), { staged: 3, released: 0, takeOvers: 1 });
});
