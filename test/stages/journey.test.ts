import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import { handoverFigure, loadFigure } from "../../src/stages/journey.ts";
import type { RunFiles } from "../../src/stages/run-files.ts";
import { COUNTS, SHA, SNAPSHOT } from "../support/run-files.ts";

function files(entries: readonly Entry[], handover: RunFiles["handover"] = null): RunFiles {
  const plan = { counts: COUNTS, sha256: SHA, madeFrom: "b".repeat(64), release: "juno" };
  return { snapshot: SNAPSHOT, plan, journal: { entries, torn: false }, handover };
}

const at = (second: number): string => new Date(second * 1000).toISOString();
const SPAN = { part: "ironic", plan: SHA, from: 0, to: 2 } as const;

test("how long a load takes is known from this run's own batches, and not before", () => {
  assert.equal(loadFigure(files([])), null);
  const begin: Entry = { do: "begin", ...SPAN, at: at(0), by: "me" };
  assert.equal(loadFigure(files([begin])), null, "a batch that did not end tells nothing");
  const done: Entry = { do: "done", ...SPAN, at: at(2), created: 4, found: [] };
  // Four rows in two seconds, and four rows in the plan.
  assert.deepEqual(loadFigure(files([begin, done])), {
    ...{ seconds: 2, from: "2.0 rows a second so far" },
  });
});

test("how long a hand-over takes is said by its pace, else by Ironic's own settings", () => {
  const staged = { staged: 20, released: 0 };
  assert.deepEqual(handoverFigure(files([], staged)), {
    ...{ seconds: 540, from: "Ironic's own settings: 8 machines every 180 s" },
  });
  const start = (id: string, second: number): Entry => ({
    ...{ part: "hand-over", do: "start", id, at: at(second), by: "me" },
  });
  const begun = files([start("a", 0), start("b", 60)], { staged: 20, released: 9 });
  assert.deepEqual(handoverFigure(begun), {
    seconds: (11 * 60) / 9,
    from: "this run's pace so far",
  });
  // A few are no pace: they waited for a conductor's next round.
  const few = files([start("a", 0), start("b", 60)], { staged: 20, released: 8 });
  assert.match(handoverFigure(few)?.from ?? "", /^Ironic's own settings/);
  assert.equal(handoverFigure(files([])), null);
});
