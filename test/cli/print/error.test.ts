import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  errorText,
  exitStatus,
  outOfFiles,
  placed,
  refusalOf,
} from "../../../src/cli/print/error.ts";
import { createEvents } from "../../../src/cli/print/events.ts";
import { MigrationError } from "../../../src/lib/error.ts";
import { packageRoot } from "../../../src/run/files/package-root.ts";
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

test("a trace names no folder of the installation", () => {
  const root = packageRoot();
  for (const folder of [root, pathToFileURL(root).href])
    for (const [line, shown] of [
      [
        `    at apply (${folder}/dist/src/engine/apply.js:1:2)`,
        "    at apply (src/engine/apply.js:1:2)",
      ],
      [`    at async ${folder}/dist/src/cli/main.js:3:4`, "    at async src/cli/main.js:3:4"],
      [
        `    at Client.query (${folder}/node_modules/knex/lib/client.js:5:6)`,
        "    at Client.query (node_modules/knex/lib/client.js:5:6)",
      ],
    ] as const)
      assert.equal(placed(line), shown);
  for (const line of [
    "    at node:internal/process/task_queues:95:5",
    "    at elsewhere (/opt/another/dist/src/cli/main.js:3:1)",
  ])
    assert.equal(placed(line), line);
});

const system = (code: string) => Object.assign(new Error(`${code}: no`), { code, syscall: "open" });

for (const [given, code] of [
  [system("EMFILE"), "N2I-E221"],
  [new Error("knex says", { cause: system("ENFILE") }), "N2I-E221"],
  [new MigrationError("N2I-E120", "cannot write", { cause: system("EMFILE") }), "N2I-E221"],
  [new MigrationError("N2I-E200", "no answer", { cause: system("EMFILE") }), "N2I-E221"],
  [new MigrationError("N2I-E400", "no socket", { cause: system("EMFILE") }), "N2I-E221"],
  [new MigrationError("N2I-E301", "stopped midway", { cause: system("EMFILE") }), "N2I-E301"],
  [new MigrationError("N2I-E120", "cannot write", { cause: system("ENOSPC") }), "N2I-E120"],
] as const)
  test(`${code}: ${given.message} (${[given.cause ?? given].map((cause) => (cause as { code?: string }).code)})`, () => {
    const told = outOfFiles(given);
    assert.ok(told instanceof MigrationError);
    assert.equal(told.code, code);
  });

test("an error without a cause in the system is not replaced", () => {
  const bug = new TypeError("x is not a function");
  assert.equal(outOfFiles(bug), bug);
  assert.equal(outOfFiles(undefined), undefined);
});
