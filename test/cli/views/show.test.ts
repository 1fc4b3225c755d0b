import assert from "node:assert/strict";
import { test } from "node:test";
import { novaStepsView } from "../../../src/cli/views/show.ts";
import { renderRows } from "../../../src/lib/table/table.ts";
import type { Finding } from "../../../src/model/finding.ts";
import { FINDINGS, type FindingCode } from "../../../src/model/findings.ts";
import type { NovaStep } from "../../../src/model/nova/nova-plan.ts";

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
  assert.match(text, new RegExp(`^${2700 + findings.length} rows by Part, Change; `, "m"));
});
