import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { parse } from "yaml";
import { collector, printed, printRows, shown } from "../../window/report/collect.ts";

const COLUMNS = ["UUID", "CPUs", "Power State"];
const ROWS = [
  ["b", 2, null],
  ["a", 10, "power on"],
  ["c", null, "é\x1b"],
];

test("json is Python's json.dump with indent 2, ASCII only", async () => {
  assert.equal(
    await printed("json", COLUMNS, ROWS.slice(1)),
    `[
  {
    "UUID": "a",
    "CPUs": 10,
    "Power State": "power on"
  },
  {
    "UUID": "c",
    "CPUs": null,
    "Power State": "\\u00e9\\u001b"
  }
]
`,
  );
  assert.equal(await printed("json", COLUMNS, []), "[]\n");
});

test("--noindent puts json on one line, as Python does", async () => {
  const text = await printed(
    "json",
    ["A", "B"],
    [
      ["x", [1, { y: true }]],
      ["z", null],
    ],
    { noindent: true },
  );
  assert.equal(text, '[{"A": "x", "B": [1, {"y": true}]}, {"A": "z", "B": null}]\n');
});

test("yaml reads back as the same rows and quotes what YAML 1.1 takes for a boolean", async () => {
  const text = await printed(
    "yaml",
    ["Name", "Up"],
    [
      ["yes", false],
      ["0x1f", "multi\nline"],
    ],
  );
  assert.match(text, /^- Name: "yes"\n {2}Up: false\n- Name: /);
  assert.deepEqual(parse(text, { version: "1.1" }), [
    { Name: "yes", Up: false },
    { Name: "0x1f", Up: "multi\nline" },
  ]);
  assert.equal(await printed("yaml", ["Name"], []), "[]\n");
});

test("value parts values by blanks and has no header", async () => {
  assert.equal(await printed("value", COLUMNS, ROWS.slice(0, 2)), "b 2 None\na 10 power on\n");
});

test("--column keeps the order given", async () => {
  const column = ["Power State", "UUID"];
  const expected = "None b\npower on a\n";
  assert.equal(await printed("value", COLUMNS, ROWS.slice(0, 2), { column }), expected);
});

test("an unknown column is refused with the columns there are, before a row is read", async () => {
  const never: AsyncIterable<readonly string[]> = {
    [Symbol.asyncIterator]: () => assert.fail("a row was read"),
  };
  for (const given of [{ column: ["uuid"] }, { sortColumn: ["uuid"] }])
    await assert.rejects(printed("json", COLUMNS, never, given), {
      code: "N2I-E100",
      message: "there is no column 'uuid'",
      fix: "Choose from these columns: UUID, CPUs, Power State.",
    });
});

test("--sort-column sorts numbers by size, puts None last and need not be shown", async () => {
  const sorted = await printed("value", COLUMNS, ROWS, { sortColumn: ["CPUs"], column: ["UUID"] });
  assert.equal(sorted, "b\na\nc\n");
  const byUuid = await printed("value", COLUMNS, ROWS, { sortColumn: ["UUID"], column: ["UUID"] });
  assert.equal(byUuid, "a\nb\nc\n");
});

test("one object prints in every form", async () => {
  const object = { uuid: "7f0c", extra: { a: 1 } };
  const json = await shown("json", object);
  assert.equal(json, '{\n  "uuid": "7f0c",\n  "extra": {\n    "a": 1\n  }\n}\n');
  assert.equal(await shown("yaml", object), "uuid: 7f0c\nextra:\n  a: 1\n");
  assert.equal(await shown("value", object, { column: ["extra", "uuid"] }), '{"a": 1}\n7f0c\n');
  const csv = await shown("csv", object);
  assert.equal(csv, '"Field","Value"\n"uuid","7f0c"\n"extra","{""a"": 1}"\n');
  await assert.rejects(shown("json", object, { column: ["x"] }), { code: "N2I-E100" });
});

test("csv, value, json and yaml write each row before they wait for the next", async () => {
  for (const format of ["csv", "value", "json", "yaml"] as const) {
    const { out, text } = collector();
    async function* rows(): AsyncIterable<readonly string[]> {
      yield ["first-row"];
      await turn();
      assert.match(text(), /first-row/, format);
      yield ["second-row"];
    }
    await printRows(out, ["A"], rows(), { format });
  }
});
