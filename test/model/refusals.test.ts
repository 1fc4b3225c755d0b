import assert from "node:assert/strict";
import { test } from "node:test";
import { EXIT_STATUS, type ExitName } from "../../src/lib/exit-status.ts";
import { REFUSALS } from "../../src/lib/refusals.ts";

/** What a refusal says by its status: nothing was done, but for one that stopped midway. */
const MAY: { readonly [name in ExitName]?: readonly string[] | "any" } = {
  failed: "any",
  refused: "any",
  denied: "any",
  usage: "any",
  halfway: ["N2I-E301", "N2I-E217", "N2I-E363", "N2I-E388", "N2I-E390"],
  locked: ["N2I-E302", "N2I-E318", "N2I-E362", "N2I-E380", "N2I-E381"],
  bug: ["N2I-E900"],
};

test("a refusal has no status that says something was done, and each has one of the table", () => {
  for (const [code, { exit }] of Object.entries(REFUSALS)) {
    const name = Object.entries(EXIT_STATUS).find(([, { status }]) => status === exit)?.[0];
    const may = MAY[name as ExitName]; // a name of the table, or undefined
    assert.ok(may === "any" || may?.includes(code), `${code} exits ${exit}, ${name}`);
  }
});

test("what only the command line can fix is its fault", () => {
  for (const code of ["N2I-E100", "N2I-E107", "N2I-E305", "N2I-E306"] as const)
    assert.equal(REFUSALS[code].exit, EXIT_STATUS.usage.status, code);
});
