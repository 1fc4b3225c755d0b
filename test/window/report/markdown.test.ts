import assert from "node:assert/strict";
import { test } from "node:test";
import { UNSEEN } from "../../../src/lib/text.ts";
import { markdown } from "../../../src/window/report/markdown.ts";
import { matchesGolden } from "../../support/golden.ts";
import { sampleFacts } from "./sample.ts";

test("the report for a change ticket is the one reviewed", () => {
  matchesGolden("test/window/report/expected/report.md", markdown(sampleFacts(), true));
  matchesGolden("test/window/report/expected/page.md", markdown(sampleFacts(), false));
});

test("nothing that a database holds is markup, a row or a line of the ticket", () => {
  const text = markdown(sampleFacts(), true);
  assert.doesNotMatch(text, /(?<!\\)</);
  assert.equal(text.replaceAll("\n", "").search(UNSEEN), -1);
  const table = text.split("\n").filter((line) => line.startsWith("| N2I-"));
  assert.ok(table.length > 0);
  for (const line of table) assert.match(line, /^(\|( (?:\\.|[^|\\])*)?){3,4}\|$/);
});

test("a ticket is a page or two, however many causes there are", () => {
  const facts = sampleFacts();
  const [one] = facts.totals.skipped;
  assert.ok(one);
  const skipped = Array.from({ length: 500 }, (_, at) => ({ ...one, reason: `reason ${at}` }));
  const text = markdown(sampleFacts({ totals: { ...facts.totals, skipped } }), true);
  assert.ok(text.split("\n").length < 150);
  assert.match(text, /\| and 488 more \|/);
});

test("what was found in Nova is listed, and more of it counted", () => {
  const text = markdown(sampleFacts(), true);
  assert.match(text, /## Found in Nova\n\n\| Code \| Where \| What \|/);
  assert.match(text, /\| N2I-D304 \| services\.id=4 \| host compute-1 is up \|/);
  assert.match(text, /\nand 1 more\n/);
});
