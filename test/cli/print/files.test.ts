import assert from "node:assert/strict";
import { test } from "node:test";
import { outOfFiles } from "../../../src/cli/print/error.ts";
import { MigrationError } from "../../../src/lib/error.ts";

const system = (code: string): Error =>
  Object.assign(new Error(`${code}: no`), { code, syscall: "open" });

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

test("what has no cause of the system stays itself", () => {
  const bug = new TypeError("x is not a function");
  assert.equal(outOfFiles(bug), bug);
  assert.equal(outOfFiles(undefined), undefined);
});
