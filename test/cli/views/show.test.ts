import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import yargs from "yargs";
import { formatOptions } from "../../../src/cli/options/shared.ts";
import { codesView, exitName, explain, sitePieces } from "../../../src/cli/views/explain.ts";
import { severalLines } from "../../../src/cli/views/several.ts";
import { novaStepsView } from "../../../src/cli/views/show.ts";
import { REFUSALS } from "../../../src/lib/refusals.ts";
import { type FormatOptions, tableLimit } from "../../../src/lib/table/format.ts";
import { renderRows } from "../../../src/lib/table/table.ts";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import {
  FINDINGS,
  type Finding,
  type FindingCode,
  type FindingKind,
} from "../../../src/model/findings.ts";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";
import { privateFolder } from "../../hostile/deployment.ts";

async function* one<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}

function steps(count: number): readonly NovaStep[] {
  return Array.from({ length: count }, (_, at) => at).flatMap((at) =>
    (["hosts", "flavors", "api"] as const).flatMap((part) =>
      [
        { before: null, after: { host: "ironic" } },
        { before: { host: `compute-${at}` }, after: { host: "ironic" } },
        { before: { host: `compute-${at}` }, after: null },
      ].map((change) => ({
        ...{ ...change, part, table: "instances" as const, key: { id: at }, machine: null },
        ...{ id: `instances:${at}`, of: `instance ${at}` },
      })),
    ),
  );
}

test("a plan's rows of Nova for 300 machines with every finding there is fit on a page", async () => {
  // The keys of FINDINGS are its codes.
  const findings = (Object.keys(FINDINGS) as FindingCode[]).map(
    (code): Finding => ({ code, severity: "warning", place: "instances.id=1", message: "look" }),
  );
  const view = novaStepsView(one(steps(300)), one(findings));
  let text = "";
  for await (const part of renderRows(view, { format: "table", every: "show" }, { env: {} }))
    text += part;
  const lines = text.trimEnd().split("\n");
  assert.ok(lines.length <= 60, String(lines.length));
  assert.match(text, /^ +300 {2}hosts {2}create$/m);
  assert.match(text, new RegExp(`^${2700 + findings.length} rows by Part, Change\\. `, "m"));
});

test("a refusal is explained with its reason, its exit status and the fix last", () => {
  assert.equal(
    explain("N2I-E300"),
    `N2I-E300: the plan is stale

Why:  The target changed after the plan was made.
Exit: 4 (refused)
Fix:  Run plan again, review the differences, then run apply.
`,
  );
});

test("a finding is explained with its severity, its machines, and the piece of site document that accepts it", () => {
  assert.equal(
    explain("d100"),
    `N2I-D100: deployment in progress

Severity: blocks: the machine is not loaded
Advice: Wait until the deployment ends. If nova-compute is down for good, accept the finding. After deploy complete, the machine is then loaded as active and in maintenance. Otherwise it is loaded as a failed deployment.
Machines: nova2ironic show RUN/plan --match Finding=D100

In the site document:

  machines:
    - match: {uuid: UUID}
      accept: [{finding: N2I-D100, reason: WHY}]
`,
  );
  assert.doesNotMatch(explain("N2I-D004"), /site document/);
  assert.match(explain("d629"), /set: \{driver_info: \{ipmi_priv_level: OPERATOR\}\}$/m);
});

test("each piece of a site document is one that the schema takes, and every acceptable finding has one", async (t) => {
  const mappings = await loadMappings();
  const file = join(privateFolder(t), "site.yaml");
  for (const [code, { acceptable }] of Object.entries<FindingKind>(FINDINGS)) {
    // The keys of the table are codes.
    const pieces = sitePieces(code as FindingCode);
    if (acceptable === true) assert.ok(pieces.length > 0, code);
    for (const lines of pieces) {
      const text = lines
        .join("\n")
        .replaceAll("ROOT-UUID", randomUUID())
        .replace(/# or\n.*/, "");
      writeFileSync(file, `format: nova2ironic/site@1\n${text}\n`);
      await mappings.site(file);
    }
  }
});

test("every code is explained, and listed once", () => {
  const codes = [...Object.keys(REFUSALS), ...Object.keys(FINDINGS)];
  const { columns, rows } = codesView();
  for (const code of codes) assert.match(explain(code), new RegExp(`^${code}: .`));
  assert.equal(exitName(99), "unknown");
  assert.deepEqual(
    rows.map(([code]) => code),
    codes,
  );
  assert.ok(rows.every((row) => row.length === columns.length));
});

test("an unknown code is refused and near ones are named", () => {
  const refuses = (code: string, fix: RegExp): void =>
    assert.throws(() => explain(code), { code: "N2I-E100", fix });
  refuses("N2I-E30O", /^Did you mean N2I-E300 or /);
  refuses("n2i-d5041", /N2I-D504/);
  refuses("bogus", /^List all codes with: nova2ironic explain --all-rows$/);
});

function parsed(...argv: string[]): Promise<FormatOptions & { readonly _: unknown }> {
  const program = yargs(argv).options(formatOptions).strictOptions().exitProcess(false);
  return program.parseAsync() as ReturnType<typeof parsed>;
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

async function told(count: number, all = false) {
  const kept: string[] = [];
  const keep = (line: string): void => void kept.push(line);
  const things = Array.from({ length: count }, (_, at) => ({
    text: `m${at} broke`,
    cause: "broke",
  }));
  const how = { all, width: undefined, keep, every: "grep Failed log" };
  return { lines: await severalLines("Failed", things, async () => null, how), kept };
}

test("of many failures each line is kept, and the command that shows them does nothing again", async () => {
  const { lines, kept } = await told(25);
  assert.deepEqual(
    kept,
    Array.from({ length: 25 }, (_, at) => `Failed: m${at} broke`),
  );
  assert.equal(lines[0], "Failed: 25, by cause.");
  assert.equal(lines.at(-1), "All: grep Failed log");
});

test("lines that are all printed are not also saved to the log", async () => {
  for (const [count, all] of [
    [20, false],
    [25, true],
  ] as const) {
    const { lines, kept } = await told(count, all);
    assert.deepEqual([lines.length, kept], [count, []]);
  }
});
