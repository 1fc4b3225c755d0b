import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { errorText, exitStatus, refusalOf } from "../../../src/cli/print/error.ts";
import { createEvents } from "../../../src/cli/print/events.ts";
import { MigrationError } from "../../../src/lib/error.ts";
import { collector } from "../../window/report/collect.ts";

const SECRET = "s3cr3t-of-a-bmc";

/** As knex and mysql2 throw it: the row's values stand in message, sql and stack. */
function driverError(): Error {
  const message = `insert into nodes values ('${SECRET}')\n    at '${SECRET}' - Duplicate entry`;
  return Object.assign(new Error(message), { code: "ER_DUP_ENTRY", errno: 1062, sql: SECRET });
}

test("a refusal is one paragraph with the fix as its last line", () => {
  const error = new MigrationError("N2I-E200", "ironic at db2:3306 does not answer");
  assert.equal(
    errorText(error, { debug: false }),
    `ERROR N2I-E200 ironic at db2:3306 does not answer.
More: nova2ironic explain N2I-E200
Fix: Check host, port and network, then repeat the command.
`,
  );
  assert.equal(exitStatus(error), 1);
});

test("--debug shows the causes by name and code, and none of their values", () => {
  const inner = new MigrationError("N2I-E207", "ironic refuses a statement", {
    cause: driverError(),
  });
  const text = errorText(new MigrationError("N2I-E301", "apply stopped", { cause: inner }), {
    debug: true,
  });
  assert.match(text, /^Caused by: N2I-E207 ironic refuses a statement$/m);
  assert.match(text, /^Caused by: Error code=ER_DUP_ENTRY errno=1062$/m);
  assert.match(text, /^ {4}at driverError/m);
  assert.match(text, /\nFix: [^\n]+\n$/);
  assert.ok(!text.includes(SECRET), text);
});

test("an unexpected error is called a bug, and its message is withheld unless it is harmless", () => {
  for (const thrown of [driverError(), new SyntaxError(`Unexpected ${SECRET}`), SECRET]) {
    const text = errorText(thrown, { debug: true });
    assert.match(text, /^ERROR N2I-E900 This is a bug in nova2ironic: /m);
    assert.ok(!text.includes(SECRET), text);
    assert.equal(exitStatus(thrown), 70);
  }
  const undefinedRow = new TypeError("Cannot read properties of undefined (reading 'uuid')");
  assert.match(errorText(undefinedRow, { debug: false }), /undefined \(reading 'uuid'\)\.$/m);
  const missing = new Error("Cannot find package 'pg' imported from /opt/x.js");
  assert.match(errorText(missing, { debug: false }), /: Error: Cannot find package 'pg'\.$/m);
});

test("a system call's failure tells the call, the code and the address", async () => {
  const cause = await readFile("/nonexistent").catch((error: unknown) => error);
  const text = errorText(new MigrationError("N2I-E104", "x", { cause }), { debug: true });
  assert.match(text, /^Caused by: Error code=ENOENT errno=-2 syscall=open$/m);
});

test("a chain of causes that goes round ends", () => {
  const error = new MigrationError("N2I-E200", "x");
  error.cause = error;
  assert.match(errorText(error, { debug: true }), /Fix:/);
});

test("a refusal of several faults keeps them on their own lines, without escapes", () => {
  const text = errorText(new MigrationError("N2I-E103", "2 faults:\n/a \x1b\n/b"), {
    debug: false,
  });
  assert.match(text, /^ERROR N2I-E103 2 faults:\n\/a \\x1b\n\/b\.\nMore:/);
});

test("with --json the error is an event", () => {
  const { out, text } = collector();
  const emit = createEvents(out, () => 0);
  const error = new MigrationError("N2I-E300", "node 7f0c changed");
  emit("diagnostic", refusalOf(error));
  emit("diagnostic", refusalOf(driverError()));
  const lines = text().trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines[0] ?? ""), {
    v: 1,
    ts: "1970-01-01T00:00:00Z",
    type: "diagnostic",
    severity: "error",
    code: "N2I-E300",
    message: "node 7f0c changed",
    fix: "Run plan again, review the differences, then run apply.",
  });
  assert.ok(!text().includes(SECRET));
});
