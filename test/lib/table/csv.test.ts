import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Quote } from "../../../src/lib/table/format.ts";
import { holdsLater } from "../../support/seeded.ts";
import { collector, printed, printRows } from "../../window/report/collect.ts";

const ROWS = [['say "hi"', 1, null, "a,b", "back\\slash", true]];
const COLUMNS = ["A", "B", "C", "D", "E", "F"];

const EXPECTED: { readonly [quote in Quote]: string } = {
  nonnumeric: '"A","B","C","D","E","F"\n"say ""hi""",1,"","a,b","back\\\\slash",True\n',
  all: '"A","B","C","D","E","F"\n"say ""hi""","1","","a,b","back\\\\slash","True"\n',
  minimal: 'A,B,C,D,E,F\n"say ""hi""",1,,"a,b",back\\\\slash,True\n',
  none: 'A,B,C,D,E,F\nsay \\"hi\\",1,,a\\,b,back\\\\slash,True\n',
};

for (const [quote, expected] of Object.entries(EXPECTED))
  test(`--quote ${quote} writes what Python's csv.writer writes`, async () => {
    // The keys of EXPECTED are the quote modes; Object.entries widens them to string.
    assert.equal(await printed("csv", COLUMNS, ROWS, { quote: quote as Quote }), expected);
  });

test("every text comes back from csv, in every way of quoting", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', ",", "\\", "\n", "\r", " ", "é") });
  const rows = fc.array(fc.tuple(text, text), { maxLength: 5 });
  const quote = fc.constantFrom<Quote>("all", "minimal", "none", "nonnumeric");
  await holdsLater(100, rows, quote, async (given, mode) => {
    const written = await printed("csv", ["A", "B"], given, { quote: mode });
    assert.deepEqual(read(written), [["A", "B"], ...given]);
  });
});

/** Reads csv as Python's csv.reader with escapechar `\` does. */
function read(text: string): string[][] {
  const rows: string[][] = [];
  const row: string[] = [];
  let field = "";
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    if (character === "\\") field += text[++at] ?? "";
    else if (character === '"' && quoted && text[at + 1] === '"') field += text[++at] ?? "";
    else if (character === '"') quoted = !quoted;
    else if (quoted || !/[,\n]/.test(character)) field += character;
    else {
      row.push(field);
      field = "";
      if (character === "\n") rows.push(row.splice(0));
    }
  }
  return rows;
}

test("a terminal is not repainted by csv, and a file holds what was there", async () => {
  const rows = [["\u001b[2J\u0007", "two\nlines"]];
  const { out, text } = collector(80);
  await printRows(out, ["A", "B"], rows, { format: "csv", quote: "all" });
  assert.equal(text(), '"A","B"\n"\\x1b[2J\\x07","two\nlines"\n');
  const found = await printed("csv", ["A", "B"], rows, { quote: "all" });
  assert.equal(found, '"A","B"\n"\u001b[2J\u0007","two\nlines"\n');
});
