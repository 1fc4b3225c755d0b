import assert from "node:assert/strict";
import { test } from "node:test";
import yargs from "yargs";
import { formatOptions } from "../../../src/cli/options/format.ts";
import { type FormatOptions, tableLimit } from "../../../src/lib/table/format.ts";

async function parsed(...argv: string[]): Promise<FormatOptions & { readonly _: unknown }> {
  return yargs(argv).options(formatOptions).strictOptions().exitProcess(false).parseAsync();
}

test("the options parse to what printRows takes", async () => {
  const { format, column, sortColumn, noindent, quote, maxWidth, fitWidth, printEmpty, _ } =
    await parsed(
      ..."-f csv -c UUID --column Name plan.jsonl --sort-column Name --noindent".split(" "),
      ..."--quote all --max-width 99 --fit-width --print-empty".split(" "),
    );
  assert.deepEqual(
    { format, column, sortColumn, noindent, quote, maxWidth, fitWidth, printEmpty, _ },
    {
      format: "csv",
      column: ["UUID", "Name"],
      sortColumn: ["Name"],
      noindent: true,
      quote: "all",
      maxWidth: 99,
      fitWidth: true,
      printEmpty: true,
      _: ["plan.jsonl"],
    },
  );
});

test("without options it is a table of all columns, csv would quote all but numbers", async () => {
  const { format, column, quote, maxWidth } = await parsed();
  assert.deepEqual([format, column ?? [], quote, maxWidth], ["table", [], "nonnumeric", undefined]);
});

test("a table that goes to a file is fitted to no screen", () => {
  assert.equal(tableLimit({ format: "table" }, { columns: 80, env: {} }), undefined);
  assert.equal(tableLimit({ format: "table" }, { columns: 80, env: { CLIFF_FIT_WIDTH: "1" } }), 80);
  assert.equal(tableLimit({ format: "table", fitWidth: true }, { columns: 0, env: {} }), undefined);
});
