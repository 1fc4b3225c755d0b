import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../hostile/cli.ts";
import { deployFiles, extractAndPlan } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

test("the records of a run are shown as tables and in every other format of a list", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, writer, run } = made;
  await extractAndPlan(made);
  await runs(0, ["window", "open", ...at]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const shown = async (file: string, ...words: readonly string[]): Promise<string> =>
    (await runs(0, ["show", join(run, file), ...words])).out;
  const journal = await shown("journal.jsonl");
  assert.match(journal, /\| begin +\| ironic +\| 0 to 2 +\| [0-9a-f]{12} \|/);
  assert.match(journal, /\| done .* created 4, found 0/);
  const rows = JSON.parse(await shown("journal.jsonl", "-f", "json")) as readonly object[];
  assert.equal(Object.keys(rows[0] ?? {}).join(), "At,What,Part,Of,Plan,By,Details");
  const began = await shown("log.jsonl", "--match", "What=begin", "-f", "value", "-c", "Text");
  assert.match(began, /^nova2ironic extract .*\nnova2ironic plan .*\nnova2ironic window open /);
  assert.match(await shown("log.jsonl", "-f", "csv"), /"end",\d+,"exit 0 done"/);
  for (const window of ["window.jsonl", "window"])
    assert.match(await shown(window, "-c", "What", "-c", "Stage"), /\| begin +\| apply/);
  const nothing = ["show", join(made.folder, "journal.jsonl")];
  await refused(nothing, 64, "N2I-E110", [/does not exist/]);
  await refused(["show", join(run, "log.jsonl"), "--diff", ""], 64, "N2I-E100", [/not a log/]);
});

test("extract, plan and check list what --match wants, and no column they have not", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, writer, plan } = made;
  const extract = ["extract", ...at, ...source];
  const read = await runs(0, [...extract, "--match", "Task=active"]);
  assert.match(read.out, /^\| +1 \| .*\nSnapshot: 2 machines/ms);
  assert.doesNotMatch(read.out, /^\| +2 \|/m);
  const planned = await runs(0, ["plan", ...at, ...writer, ...plan, "--match", "BM ID=2"]);
  assert.match(planned.out, /^\| +2 \| .*Plan: 2 nodes/ms);
  assert.doesNotMatch(planned.out, /^\| +1 \|/m);
  const check = ["check", ...at, ...source.slice(0, 4), ...writer, "--watch", "0"];
  const checked = await runs(1, [...check, "--match", "Result=Success", "--match", "check=Clock*"]);
  assert.deepEqual(checked.out.match(/Check: \w+/g), ["Check: Clock"]);
  for (const words of [extract, ["plan", ...at, ...writer], check])
    await refused([...words, "--match", "Reslt=x"], words === check ? 255 : 64, "N2I-E100");
});
