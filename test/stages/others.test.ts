import assert from "node:assert/strict";
import { test } from "node:test";
import type { TargetIdentity } from "../../src/model/artefact.ts";
import type { Entry } from "../../src/model/journal.ts";
import type { PlannedMachine } from "../../src/model/plan.ts";
import type { Target } from "../../src/model/target.ts";
import { countOthers } from "../../src/stages/check-others.ts";

const [OURS, THEIRS] = ["a-1", "z-1"];
const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: OURS, service_host: "c-1", verdict: "create", reason: null },
  ...{ state: { row: "free", outcome: "free" }, findings: [] },
  records: [
    { resource: "node", id: `node:${OURS}`, row: { uuid: OURS }, origins: [], change: "create" },
  ],
};
/** Of it only the engine is looked at, which says how long a batch is. */
const identity = { engine: "mysql" } as TargetIdentity;

/** Ironic with these nodes. */
function holding(nodes: readonly string[]): Pick<Target, "identity" | "counts" | "current"> {
  return {
    identity,
    counts: () => Promise.resolve({ nodes: nodes.length, ports: 0 }),
    current: ({ uuids }) =>
      Promise.resolve({
        nodes: nodes.filter((uuid) => uuids.includes(uuid)).map((uuid) => ({ uuid })),
        ports: [],
      }),
  };
}

test("a node that was lost and loaded again by a plan made later hides no node of others", async () => {
  const [earlier, later] = ["a".repeat(64), "b".repeat(64)];
  const entries = [earlier, later].flatMap((plan): readonly Entry[] => {
    const about = { part: "ironic", plan, from: 0, to: 1, at: "2026-11-21T00:00:00Z" };
    return [
      { do: "begin", ...about, by: "root@host" },
      { do: "done", ...about, created: 1, found: [] },
    ];
  });
  const plans = [earlier, later].map((sha256) => ({
    sha256,
    async *lines() {
      yield await Promise.resolve([MACHINE]);
    },
  }));
  const count = (nodes: readonly string[]) =>
    countOthers(holding(nodes), entries, plans, () => undefined);
  assert.equal(await count([OURS, THEIRS]), 1);
  assert.equal(await count([OURS]), 0);
  assert.equal(await count([THEIRS]), 1);
});
