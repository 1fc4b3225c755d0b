import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { placed } from "../../../src/cli/print/error.ts";
import { packageRoot, program } from "../../../src/run/files/package-root.ts";

const WORDS = "function errorText(";

const FOLDER = dirname(program());

/** Where words stand in the bundle: `program.js:12:345`. */
function placeOf(words: string): string {
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".js"))) {
    const text = readFileSync(join(FOLDER, name), "utf8");
    const at = text.indexOf(words);
    if (at < 0) continue;
    const before = text.slice(0, at).split("\n");
    return `${name}:${before.length}:${(before.at(-1) ?? "").length + 1}`;
  }
  throw new Error(`no file of ${FOLDER} has ${words}`);
}

test("a trace names functions, and places in src instead of the bundle's", () => {
  const [, file = "", row = ""] =
    /^ {4}at errorText \((src\/[\w/-]+\.ts):(\d+):\d+\)$/.exec(
      placed(`    at errorText (bundle/${placeOf(WORDS)})`),
    ) ?? [];
  const lines = readFileSync(join(packageRoot(), file), "utf8").split("\n");
  assert.ok(lines[Number(row) - 1]?.includes(WORDS), `${file}:${row}`);
});

test("a trace names no folder of the entry, which Node loads by its path", () => {
  const place = placeOf("function loadProgram(");
  const where = "src/cli/load-program\\.ts:\\d+:\\d+";
  const named = placed(`    at loadProgram (${FOLDER}/${place})`);
  assert.match(named, new RegExp(`^ {4}at loadProgram \\(${where}\\)$`));
  assert.match(placed(`    at ${FOLDER}/${place}`), new RegExp(`^ {4}at ${where}$`));
});

test("a place that no map tells of stays as it is", () => {
  for (const line of [
    "    at node:internal/process/task_queues:95:5",
    "    at async run (file:///usr/lib/node_modules/knex/lib/client.js:10:3)",
    "    at elsewhere (/opt/another/bundle/nova2ironic.js:3:1)",
    `    at placed (${import.meta.url}:1:1)`,
  ])
    assert.equal(placed(line), line);
});
