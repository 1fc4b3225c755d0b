import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { digestDatabase } from "../../src/systems/ironic-db/digest.ts";
import { fleets } from "../support/arbitrary.ts";
import { planned, type Workplace, withCase } from "../support/planned-case.ts";
import { seeded } from "../support/seeded.ts";
import { applied, artefact, rolledBack, verified } from "../support/stages.ts";

/** The same snapshot in a run folder of its own. */
function again(at: Workplace, name: string): Workplace {
  const path = `${at.run.path}-${name}`;
  mkdirSync(path, { mode: 0o700 });
  const other = { ...at, run: { path } };
  cpSync(artefact(at, "snapshot"), artefact(other, "snapshot"));
  return other;
}

test("whatever the fleet, a plan loads, verifies, is done when it is done, and can be taken back", async () => {
  await fc.assert(
    fc.asyncProperty(fleets, (given) =>
      withCase(given, async (at) => {
        const before = await digestDatabase(at.ironic, true);
        const { counts, sha256 } = await planned(at);

        const twin = again(at, "twin");
        assert.equal((await planned(twin)).sha256, sha256);
        assert.deepEqual(
          readFileSync(artefact(twin, "plan")),
          readFileSync(artefact(at, "plan")),
          "the same snapshot gives the same plan, byte for byte",
        );

        const { done: created } = await applied(at);
        assert.equal(created, counts.nodes + counts.ports, "what is planned is created");

        const {
          tally: { uncleaned: _, ...tally },
        } = await verified(at);
        const left_out = counts.machines - counts.verdicts.create;
        assert.deepEqual(
          tally,
          {
            ...{ validated: created, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
            ...{ used: 0, ironics_own: 0, staged: 0, left_out },
          },
          "what is created is as planned",
        );

        const second = again(at, "second");
        const after = (await planned(second)).counts;
        assert.deepEqual(
          after.verdicts,
          { ...counts.verdicts, create: 0, unchanged: counts.verdicts.create },
          "a plan after its load is empty",
        );
        assert.deepEqual([after.nodes, after.ports], [0, 0]);

        const undone = await rolledBack(at);
        assert.deepEqual([undone.done, undone.left], [created, []]);
        assert.equal(await digestDatabase(at.ironic, true), before, "rollback is identity");
      }),
    ),
    { ...seeded(6), includeErrorInReport: true },
  );
});
