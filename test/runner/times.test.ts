import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { groupsOf, isQuick } from "./groups.ts";
import { longest, timesIn } from "./times.ts";

const SECONDS = new Map([
  ["nova/long.test.js", 90],
  ["nova/b.test.js", 70],
  ["nova/a.test.js", 15],
  ["nova/c.test.js", 10],
  ["ironic/one.test.js", 80],
  ["ironic/three.test.js", 20],
  ["ironic/two.test.js", 60],
  ["ironic/rows-postgres.test.js", 70],
  ["start.test.js", 3],
]);

test("files of a room share a process that does not last too long, and the longest starts first", () => {
  const files = [...SECONDS.keys(), "core/x.test.js", "model/y.test.js", "pack.test.js"];
  const groups = groupsOf(files, SECONDS).map(({ files }) => files);
  assert.deepEqual(groups, [
    ["nova/long.test.js"],
    ["nova/a.test.js", "nova/b.test.js"],
    ["ironic/one.test.js"],
    ["ironic/three.test.js", "ironic/two.test.js"],
    ["ironic/rows-postgres.test.js"],
    ["nova/c.test.js"],
    ["start.test.js"],
    ["core/x.test.js", "model/y.test.js"],
    ["pack.test.js"],
  ]);
});

test("the fast lane has what is quick, the golden folders, and what was never recorded", () => {
  const all = [...SECONDS.keys(), "core/x.test.js", "crash/y.test.js", "fixtures.test.js"];
  const quick = all.filter((file) =>
    isQuick(file, new Map([...SECONDS, ["fixtures.test.js", 99]])),
  );
  const fast = ["nova/c", "start", "core/x", "fixtures"];
  assert.deepEqual(
    quick,
    fast.map((name) => `${name}.test.js`),
  );
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
