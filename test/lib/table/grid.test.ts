import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Quote } from "../../../src/lib/table/format.ts";
import { displayWidth } from "../../../src/lib/table/text.ts";
import { anyText } from "../../support/any-text.ts";
import { holdsLater } from "../../support/seeded.ts";
import { collector, printed, printRows, shown } from "../../window/report/collect.ts";

test("a table is drawn as cliff draws it, numbers right, None and True in Python's words", async () => {
  const rows = [
    ["a", 1, null],
    ["bb", 222, true],
    ["c", null, { a: [1, "x"] }],
  ];
  assert.equal(
    await printed("table", ["UUID", "N", "S"], rows),
    `+------+------+-----------------+
| UUID |    N | S               |
+------+------+-----------------+
| a    |    1 | None            |
| bb   |  222 | True            |
| c    | None | {"a": [1, "x"]} |
+------+------+-----------------+
`,
  );
});

test("a table without rows is an empty line, or its header with --print-empty", async () => {
  assert.equal(await printed("table", ["UUID", "N"], []), "\n");
  const found = await printed("table", ["UUID", "N"], [], { printEmpty: true });
  assert.equal(found, "+------+---+\n| UUID | N |\n+------+---+\n+------+---+\n");
});

test("lines inside a cell become lines of its row", async () => {
  assert.equal(
    await printed("table", ["UUID", "Note"], [["a", "b\r\nc\rd"]]),
    `+------+------+
| UUID | Note |
+------+------+
| a    | b    |
|      | c d  |
+------+------+
`,
  );
});

test("a cell of megabytes is cut in a table, and whole for programs", async () => {
  const rows = [["a", "x".repeat(3_000_000)]];
  const table = await printed("table", ["UUID", "Note"], rows);
  assert.ok(table.length < 25_000);
  assert.match(table, /xxx\.\.\. \(3000000 characters; -f json has all\) \|/);
  assert.ok((await printed("json", ["UUID", "Note"], rows)).length > 3_000_000);
});

test("--max-width breaks uuids and words where PrettyTable breaks them", async () => {
  const uuid = "7f0c8a1e-1111-2222-3333-444444444444";
  const rows = [[uuid, "a long sentence with several words in it"]];
  assert.equal(
    await printed("table", ["UUID", "Name"], rows, { maxWidth: 25 }),
    `+-----------+-----------+
| UUID      | Name      |
+-----------+-----------+
| 7f0c8a1e- | a long    |
| 1111-     | sentence  |
| 2222-     | with      |
| 3333-     | several   |
| 444444444 | words in  |
| 444       | it        |
+-----------+-----------+
`,
  );
});

test("an object is shown as a table of Field and Value, all of it left", async () => {
  assert.equal(
    await shown("table", { uuid: "7f0c", cpus: 4 }),
    `+-------+-------+
| Field | Value |
+-------+-------+
| uuid  | 7f0c  |
| cpus  | 4     |
+-------+-------+
`,
  );
});

test("terminal escapes, controls and bidirectional marks in data are written out", async () => {
  const rows = [["\x1b[31mred\x9b\u202e\x07\tx"]];
  const line = (await printed("table", ["A"], rows)).split("\n")[3];
  assert.equal(line, "| \\x1b[31mred\\x9b\\u202e\\x07\\tx |");
  assert.equal(await printed("value", ["A"], [["a\nb\x1b"]]), "a\\nb\\x1b\n");
});

test("wide characters take two columns and combining ones none", async () => {
  const found = await printed("table", ["A"], [["日本"], ["e\u0301"]]);
  assert.equal(found, "+------+\n| A    |\n+------+\n| 日本 |\n| e\u0301    |\n+------+\n");
});

test("a table fits a terminal, and a terminal of no width is not fitted", async () => {
  const rows = [["x".repeat(60), "y".repeat(60)]];
  const width = async (columns: number): Promise<number> => {
    const { out, text } = collector(columns);
    await printRows(out, ["A", "B"], rows, { format: "table" });
    return text().indexOf("\n");
  };
  assert.equal(await width(80), 80);
  assert.equal(await width(0), 127);
});

test("CLIFF_MAX_TERM_WIDTH limits a table, and --max-width goes before it", async () => {
  const width = async (maxWidth?: number): Promise<number> => {
    const { out, text } = collector();
    const env = { CLIFF_MAX_TERM_WIDTH: "40" };
    await printRows(out, ["A"], [["x".repeat(99)]], { format: "table", maxWidth }, env);
    return text().indexOf("\n");
  };
  assert.equal(await width(), 40);
  assert.equal(await width(60), 60);
  assert.equal(await width(0), 103);
});

test("rows after the first 5,000 are wrapped into the widths those had", async () => {
  function* rows() {
    for (let row = 0; row < 5000; row++) yield ["1234567890"];
    yield ["beyond the widths measured"];
  }
  const lines = (await printed("table", ["A"], rows())).trimEnd().split("\n");
  assert.deepEqual(lines.slice(-5), [
    "| 1234567890 |",
    "| beyond the |",
    "| widths     |",
    "| measured   |",
    "+------------+",
  ]);
});

test("all lines of a table have one width, whatever is in it", async () => {
  const cell = fc.oneof(fc.string({ unit: "grapheme" }), anyText, fc.integer());
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 });
  await holdsLater(100, rows, fc.integer({ min: 0, max: 90 }), async (given, maxWidth) => {
    const text = await printed("table", ["UUID", "Power State", "N"], given, { maxWidth });
    const widths = new Set(text.trimEnd().split("\n").map(displayWidth));
    assert.equal(widths.size, 1, text);
  });
});

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

test("csv escapes control characters on a terminal, and keeps them in a file", async () => {
  const rows = [["\u001b[2J\u0007", "two\nlines"]];
  const { out, text } = collector(80);
  await printRows(out, ["A", "B"], rows, { format: "csv", quote: "all" });
  assert.equal(text(), '"A","B"\n"\\x1b[2J\\x07","two\nlines"\n');
  const found = await printed("csv", ["A", "B"], rows, { quote: "all" });
  assert.equal(found, '"A","B"\n"\u001b[2J\u0007","two\nlines"\n');
});
