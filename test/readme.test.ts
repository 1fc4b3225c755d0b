import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot, program } from "../src/edge/disk/package-root.ts";
import { blocks } from "./support/manual.ts";

const README = readFileSync(join(packageRoot(), "README.md"), "utf8");

test("README opens with what the tool is for, two commands and the picture, then a run and the manual", () => {
  const order = [
    ...["lose no state", "npm run demo", "npm test", "extract ──>", "## What it looks like"],
    ...["## The manual", "src/manual/runbook.md"],
  ];
  const found = order.map((text) => README.indexOf(text));
  assert.ok(!found.includes(-1), String(found));
  assert.deepEqual(
    found,
    found.toSorted((left, right) => left - right),
  );
  assert.ok(README.split("\n").length <= 151, "README is at most 150 lines");
});

test("README's demo prints what README shows, and proves everything it prints", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program(), "demo"], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^ {2}yes {2}after rollback Ironic is what it was, by digest$/m);
  assert.doesNotMatch(stdout, /^ {2}NO /m);
  const said = new Set(`${stdout}${stderr}`.split("\n"));
  const shown = blocks(README, "text").flatMap((block) => block.trimEnd().split("\n"));
  assert.deepEqual(
    shown.filter((line) => !said.has(line)),
    [],
  );
});
