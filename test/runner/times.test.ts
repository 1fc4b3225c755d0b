import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { longest, longestFirst, timesIn } from "./times.ts";

const SECONDS = new Map([
  ["slow.js", 60],
  ["slower.js", 90],
  ["ironic/one.js", 30],
  ["ironic/two.js", 20],
]);
const FILES = ["a.js", "b.js", "c.js", "ironic/two.js", "ironic/one.js", "slow.js", "slower.js"];

test("the longest file starts first, a new one last, and who shares a server not beside each other", () => {
  assert.deepEqual(longestFirst(FILES, SECONDS), [
    ...["ironic/one.js", "slower.js", "slow.js", "a.js"],
    ...["ironic/two.js", "b.js", "c.js"],
  ]);
});

test("the table has the ten files that took longest, of all that told", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-times-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "times");
  assert.deepEqual(timesIn(path), []);
  const lines = Array.from({ length: 12 }, (_, at) => `${at}.js\t${at}.5\t0.1\n`);
  writeFileSync(path, lines.join(""));
  const table = longest(timesIn(path));
  assert.match(table[0] ?? "", /the 10 longest of 12 test files$/);
  assert.equal(table[1], "     11.5       0.1  11.js");
  assert.equal(table.length, 11);
});
