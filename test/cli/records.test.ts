import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

test("what a run writes down as it goes is shown as any list", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, writer, plan, run } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...writer, ...plan, "-q"]);
  await runs(0, ["window", "open", ...at]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const shown = async (file: string, ...words: readonly string[]): Promise<string> =>
    (await runs(0, ["show", join(run, file), ...words])).out;
  const journal = await shown("journal.jsonl");
  assert.match(journal, /\| begin +\| ironic +\| 0 to 2 +\| [0-9a-f]{12} \|/);
  assert.match(journal, /\| done .* created 4, found 0/);
  const rows = JSON.parse(await shown("journal.jsonl", "-f", "json")) as readonly object[];
  assert.deepEqual(Object.keys(rows[0] ?? {}), [
    "At",
    "What",
    "Part",
    "Of",
    "Plan",
    "By",
    "Details",
  ]);
  const began = await shown("log.jsonl", "--match", "What=begin", "-f", "value", "-c", "Text");
  assert.match(began, /^nova2ironic extract .*\nnova2ironic plan .*\nnova2ironic window open /);
  assert.match(await shown("log.jsonl", "-f", "csv"), /"end",\d+,"exit 0 done"/);
  assert.match(await shown("window.jsonl", "-c", "What", "-c", "Stage"), /\| begin +\| apply/);
  const nothing = ["show", join(made.folder, "journal.jsonl")];
  await refused(nothing, 64, "N2I-E110", [/does not exist/]);
  await refused(["show", join(run, "log.jsonl"), "--diff", ""], 64, "N2I-E100", [/not a log/]);
});
