import assert from "node:assert/strict";
import { test } from "node:test";
import { checkColumns } from "../../../src/cli/views/columns.ts";
import { fitting } from "../../../src/cli/views/fitting.ts";
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

test("columns are held against the lists that this very command line prints", () => {
  const fields = { match: ["Fields=protected"] };
  assert.equal(said("finish", { ...fields, plan: true }), "");
  assert.match(said("finish", fields), /^there is no column "Fields" .*What to do, Name, BMC/);
  const log = { match: ["Conductor Log=*"] };
  assert.equal(said("handover", { ...log, conductorLog: ["c.log"] }), "");
  assert.match(said("handover", log), /^there is no column "Conductor Log"/);
  assert.match(said("verify", { ...log, takeover: true }), /^there is no column "Conductor Log"/);
  assert.equal(said("rollback", { column: ["Row"] }), "");
  assert.match(said("rollback", { column: ["Row"], plan: true }), /^there is no column 'Row'/);
  assert.match(said("rehearse", { column: ["BOGUS"] }), /^there is no column 'BOGUS'/);
  assert.match(said("apply", { sortColumn: ["Rseult"] }), /^there is no column 'Rseult'/);
});

test("a word is enough for one of two lists, and the other is printed without it", () => {
  const match = ["State=failed", "Says=*down*"];
  const asked = { takeover: true, conductorLog: ["c.log"], match };
  assert.equal(said("verify", asked), "");
  assert.match(said("verify", { ...asked, conductorLog: undefined }), /^there is no column "Says"/);
  const given = { format: "table", match, column: ["UUID", "Log"], sortColumn: ["UUID"] } as const;
  assert.deepEqual(fitting(["Log", "Says"], given), {
    options: { format: "table", match: ["Says=*down*"], column: ["Log"], sortColumn: [] },
    without: ["--match State=failed", "-c UUID", "--sort-column UUID"],
  });
});
