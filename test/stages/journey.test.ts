import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import { handoverFigure } from "../../src/stages/journey.ts";
import { loadFigure } from "../../src/stages/load-figure.ts";
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
  const done: Entry = { do: "done", ...SPAN, to: 1, at: at(1), created: 2, found: [] };
  // Two rows in a second, and two of the plan's four are left.
  assert.deepEqual(loadFigure(files([{ ...begin, to: 1 }, done])), {
    ...{ seconds: 1, from: "2.0 rows a second so far" },
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
  // Amid a big one there are more entries than a call takes arguments.
  const many = Array.from({ length: 200_000 }, (_, second) => start("a", second % 61));
  const big = { staged: 200_000, released: 100_000 };
  assert.equal(handoverFigure(files(many, big))?.seconds, 60);
});
