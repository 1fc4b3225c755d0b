import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { novaStepsView } from "../../src/cli/views/show.ts";
import { novaPlanOf } from "../../src/migrate/hosts/nova-files.ts";
import { renderMachine } from "../../src/migrate/plan/rules/diff.ts";
import { renderFinding } from "../../src/migrate/plan/rules/summary.ts";
import { planOf, type Workplace } from "./planned-case.ts";

const UPDATE = process.env.UPDATE_GOLDEN === "1";

/** Compares with the reviewed text, or writes it when that was asked for. */
export function matchesGolden(path: string, text: string): void {
  if (UPDATE) {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, "utf8"), path);
}

/** Every machine in full, and what belongs to none. */
export async function planText(at: Pick<Workplace, "run">): Promise<string> {
  const { header, lines } = await planOf(at);
  const parts = header.findings.map((finding) => `${renderFinding(finding)}\n`);
  for await (const batch of lines())
    for (const machine of batch) parts.push(renderMachine(machine, header.origins, false));
  const { footer } = await planOf(at);
  const nova = await novaPlanOf(at.run, footer);
  if (nova !== null)
    for await (const row of novaStepsView(nova.all(), nova.findings()).rows)
      parts.push(`nova ${row.filter((cell) => cell !== null).join(" | ")}\n`);
  // Files of the case are where this run of the tests put them.
  return parts.join("").replaceAll(`${dirname(at.run.path)}/`, "");
}
