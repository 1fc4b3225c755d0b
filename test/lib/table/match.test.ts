import assert from "node:assert/strict";
import { test } from "node:test";
import { optionsFor } from "../../../src/cli/print/out.ts";
import { checkColumns } from "../../../src/cli/views/columns.ts";
import { MigrationError } from "../../../src/lib/error.ts";
import { matching } from "../../../src/lib/table/match.ts";

const COLUMNS = ["BM ID", "UUID", "Service Host", "Instance UUID", "Findings"];
const ROWS = [
  [1, "u-1", "compute-1", null, "N2I-D600 N2I-D602"],
  [2, "u-2", "compute-2", "i-2", "N2I-D600"],
  [3, "u-3", "compute-2", "i-3", ""],
] as const;

function ids(...words: readonly string[]): readonly number[] {
  return ROWS.filter(matching(COLUMNS, words)).map(([id]) => id);
}

test("words of one column are alternatives, columns must all fit, and case does not matter", () => {
  assert.deepEqual(ids("Finding=D600", "Host=compute-2"), [2]);
  assert.deepEqual(ids("finding=n2i-d602", "FINDINGS=D600"), [1, 2]);
  assert.deepEqual(ids("service host=COMPUTE-2"), [2, 3]);
  assert.deepEqual(ids("Host=compute-*", "UUID=u-1", "UUID=u-3"), [1, 3]);
});

test("a cell without a value fits nothing, and a value is no pattern but for its stars", () => {
  assert.deepEqual(ids("Instance="), [1]);
  assert.deepEqual(ids("Instance=None"), [1]);
  assert.deepEqual(ids("Findings="), [3]);
  assert.deepEqual(ids("Host=compute.2"), []);
  assert.deepEqual(ids("Host=compute"), []);
});

test("an unknown column is refused with the nearest one", () => {
  for (const [word, fix] of [
    ["Findngs=D600", /^Did you mean Findings\? Choose from these columns: BM ID, /],
    ["colour=red", /^Choose from these columns: BM ID, UUID, /],
    ["Findings", /^Specify one of these columns: /],
  ] as const)
    assert.throws(() => matching(COLUMNS, [word]), { name: "MigrationError", fix });
});

/** What is said of a command line before it begins; nothing where it is let through. */
function said(...[command, asked]: Parameters<typeof checkColumns>): string {
  try {
    checkColumns(command, asked);
    return "";
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return `${error.message}. ${error.fix}`;
  }
}

test("columns that no list of the command has are refused before it begins", () => {
  assert.equal(said("finish", { match: ["Fields=protected"] }), "");
  assert.equal(said("handover", { match: ["Conductor Log=*"] }), "");
  assert.equal(said("rollback", { column: ["Row"] }), "");
  assert.equal(said("verify", { match: ["State=failed", "Says=*down*"] }), "");
  assert.match(said("finish", { match: ["Row=*"] }), /^there is no column "Row" .*BM ID, Fields/);
  assert.match(said("rehearse", { column: ["BOGUS"] }), /^there is no column 'BOGUS'/);
  assert.match(said("apply", { sortColumn: ["Rseult"] }), /^there is no column 'Rseult'/);
});

test("a list is printed without columns of another list of its command", () => {
  const match = ["State=failed", "Says=*down*"];
  const given = { format: "table", match, column: ["UUID", "Log"], sortColumn: ["UUID"] } as const;
  assert.deepEqual(optionsFor(["Log", "Says"], given), {
    options: { format: "table", match: ["Says=*down*"], column: ["Log"], sortColumn: [] },
    without: ["--match State=failed", "-c UUID", "--sort-column UUID"],
  });
});
