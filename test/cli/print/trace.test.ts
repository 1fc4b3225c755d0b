import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { placed } from "../../../src/cli/print/error.ts";
import { packageRoot, program } from "../../../src/edge/disk/package-root.ts";

const WORDS = "function errorText(";

/** Where a function stands in the bundle: the line of a stack that names it. */
function frameIn(folder: string): string {
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".js"))) {
    const text = readFileSync(join(folder, name), "utf8");
    const at = text.indexOf(WORDS);
    if (at < 0) continue;
    const before = text.slice(0, at).split("\n");
    return `    at errorText (bundle/${name}:${before.length}:${(before.at(-1) ?? "").length + 1})`;
  }
  throw new Error(`no file of ${folder} has ${WORDS}`);
}

test("a trace names functions, and places in src instead of the bundle's", () => {
  const [, file = "", row = ""] =
    /^ {4}at errorText \((src\/[\w/-]+\.ts):(\d+):\d+\)$/.exec(
      placed(frameIn(dirname(program()))),
    ) ?? [];
  const lines = readFileSync(join(packageRoot(), file), "utf8").split("\n");
  assert.ok(lines[Number(row) - 1]?.includes(WORDS), `${file}:${row}`);
});

test("a place that no map tells of stays as it is", () => {
  for (const line of [
    "    at node:internal/process/task_queues:95:5",
    "    at async run (file:///usr/lib/node_modules/knex/lib/client.js:10:3)",
    `    at placed (${import.meta.url}:1:1)`,
  ])
    assert.equal(placed(line), line);
});
