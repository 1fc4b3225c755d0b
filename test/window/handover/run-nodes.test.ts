import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunPlan } from "../../../src/migrate/plan/loaded-plans.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { PlannedMachine, PlannedRecord } from "../../../src/model/plan.ts";
import { runNodes } from "../../../src/window/finish/finish-part.ts";

const ABOUT = { at: "2026-01-01T00:00:00.000Z", by: "a test" } as const;
const MACHINES = ["a", "b", "c"];

function planOf(sha256: string, blocked: readonly string[] = []): RunPlan {
  const machines = MACHINES.map((uuid, bm_node_id) => {
    const record = { resource: "node", row: { uuid, sha256 }, origins: [] };
    const isOut = blocked.includes(uuid);
    return {
      ...{ uuid, bm_node_id, verdict: isOut ? "blocked" : "create" },
      records: isOut ? [] : [record as unknown as PlannedRecord],
    } as unknown as PlannedMachine;
  });
  return {
    sha256,
    origins: [],
    lines: async function* () {
      yield machines;
    },
  };
}

const begin = (plan: string, from: number, to: number): Entry => ({
  do: "begin",
  ...{ part: "ironic", plan, from, to, ...ABOUT },
});
function undo(plan: string, nodes: readonly string[] | "all"): readonly Entry[] {
  const span = { part: "ironic", plan, from: 0, to: 3, ...ABOUT };
  const gone = { removed: 1, gone: 0, settled: [], conflicts: [] };
  return [
    { do: "undo", ...span, nodes },
    { do: "undone", ...span, ...gone },
  ];
}
const refused: Entry = {
  ...{ do: "aborted", part: "ironic", plan: "1", from: 0, to: 3, at: ABOUT.at, why: "refused" },
  rows: ["node:a"],
};

/** Each node by the plan it is of; `?` for one the run is whole without. */
async function told(plans: readonly RunPlan[], journal: readonly Entry[]): Promise<string> {
  const words: string[] = [];
  for await (const batch of runNodes(plans, journal, () => true))
    for (const { uuid, row, optional } of batch)
      words.push(`${uuid}${row.sha256}${optional === true ? "?" : ""}`);
  return words.join(" ");
}

test("the nodes of a run are those of every plan that loaded some, as the newest has them, but for what was taken back", async () => {
  const [one, two] = [planOf("1"), planOf("2", ["b"])];
  const loaded = begin("1", 0, 3);
  const cases: readonly (readonly [string, readonly RunPlan[], readonly Entry[], string])[] = [
    ["loaded", [one], [loaded], "a1 b1 c1"],
    ["stopped after its first batch", [one], [begin("1", 0, 1)], "a1 b1 c1"],
    ["one refused", [one], [loaded, refused], "a1 b1 c1"],
    ["one taken back", [one], [loaded, ...undo("1", ["a"])], "a1? b1 c1"],
    ["all taken back", [one], [loaded, ...undo("1", "all")], "a1? b1? c1?"],
    ["loaded again", [one], [loaded, ...undo("1", "all"), loaded], "a1 b1 c1"],
    ["blocked by a later plan", [two, one], [loaded], "a2 c2 b1"],
    ["and that loaded too", [two, one], [loaded, begin("2", 0, 3)], "a2 c2 b1"],
    ["never loaded, then blocked", [two, one], [begin("1", 0, 1)], "a2 c2"],
    ["taken back, then blocked", [two, one], [loaded, ...undo("1", ["b"])], "a2 c2"],
    ["all blocked later", [planOf("3", MACHINES), one], [loaded], "a1 b1 c1"],
  ];
  for (const [name, plans, journal, want] of cases)
    assert.equal(await told(plans, journal), want, name);
});
