import assert from "node:assert/strict";
import { test } from "node:test";
import { checkColumns } from "../../../src/cli/views/columns.ts";
import { optionsFor } from "../../../src/cli/views/fitting.ts";
import { MigrationError } from "../../../src/lib/error.ts";

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
