import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot } from "../../src/edge/disk/package-root.ts";
import { FINDINGS } from "../../src/model/findings.ts";
import { REFUSALS } from "../../src/model/refusals.ts";
import { codesPage } from "../../src/report/codes-page.ts";
import { matchesGolden } from "../support/golden.ts";

const MANUAL = join(packageRoot(), "src", "manual");

// When this fails: UPDATE_GOLDEN=1 node .build/test/run.js --fast manual/generated
test("the page of codes is what the code says, with every code once", () => {
  const made = codesPage();
  const titles = [...made.matchAll(/^### (\S+)$/gm)].map(([, code]) => code);
  assert.deepEqual(titles.toSorted(), [...Object.keys(REFUSALS), ...Object.keys(FINDINGS)].sort());
  matchesGolden(join(MANUAL, "codes.md"), made);
});
