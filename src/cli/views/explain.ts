import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS, type ExitName, type Refusal } from "../../lib/exit-status.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { nearest } from "../../lib/table/nearest.ts";
import type { View } from "../../lib/table/table.ts";
import { FINDINGS, type FindingCode, type FindingKind } from "../../model/findings.ts";
import { sitePieces } from "./site-piece.ts";

const refusals = new Map<string, Refusal>(Object.entries(REFUSALS));
const findings = new Map<string, FindingKind>(Object.entries(FINDINGS));

const SEVERITIES = {
  blocks: "blocks: the machine is not loaded",
  warning: "warning: the machine is loaded, look at it",
  note: "note: for the record",
} as const;

/**
 * What a code means and what to do, for a person. Case and the `N2I-` may be left out.
 *
 * @param others words that are explained elsewhere, to be named where one of them is near
 * @throws MigrationError N2I-E100 for a code that does not exist; its fix names near ones
 */
export function explain(code: string, others: readonly string[] = []): string {
  const wanted = normalised(code);
  const refusal = refusals.get(wanted);
  if (refusal !== undefined) return refusalText(wanted, refusal);
  const finding = findings.get(wanted);
  // What is found there is a code.
  if (finding !== undefined) return findingText(wanted as FindingCode, finding);
  const near = [
    ...nearest(wanted, [...refusals.keys(), ...findings.keys()]),
    ...nearest(code, others),
  ];
  throw new MigrationError(
    "N2I-E100",
    `there is no code ${others.length === 0 ? "" : "or topic "}${JSON.stringify(code)}`,
    {
      fix:
        near.length === 0
          ? "List all codes with: nova2ironic explain --all-rows"
          : `Did you mean ${near.join(" or ")}? List all codes with: nova2ironic explain --all-rows`,
    },
  );
}

/** Every code as a row. */
export function codesView(): View & { readonly rows: readonly (readonly string[])[] } {
  return {
    columns: ["Code", "Kind", "Title"],
    rows: [
      ...[...refusals].map(([code, { exit, title }]) => [code, `exit ${exit}`, title]),
      ...[...findings].map(([code, { severity, title }]) => [code, severity, title]),
    ],
    causes: ["Kind"],
  };
}

/** The name of an exit status, as the manual has it. */
export function exitName(status: number): ExitName | "unknown" {
  // Object.entries widens the key to string; the keys of EXIT_STATUS are its names.
  for (const [name, { status: known }] of Object.entries(EXIT_STATUS))
    if (known === status) return name as ExitName;
  return "unknown";
}

function refusalText(code: string, { exit, title, why, fix }: Refusal): string {
  return `${code}: ${title}\n\nWhy:  ${why}\nExit: ${exit} (${exitName(exit)})\nFix:  ${fix}\n`;
}

function findingText(code: FindingCode, { severity, title, advice }: FindingKind): string {
  const pieces = sitePieces(code).map((lines) => lines.map((line) => `  ${line}\n`).join(""));
  const site =
    pieces.length === 0 ? "" : `\nIn the site document:\n\n${pieces.join("\n  # or\n\n")}`;
  return [
    `${code}: ${title}\n`,
    `Severity: ${SEVERITIES[severity]}`,
    `Advice: ${advice}`,
    `Machines: ${machinesWith(code)}`,
    site,
  ].join("\n");
}

/** The command that lists them. */
function machinesWith(code: FindingCode): string {
  return `nova2ironic show RUN/plan --match Finding=${code.replace("N2I-", "")}`;
}

/** Whether a word has the form of a code. */
export function isCode(word: string): boolean {
  return /^N2I-[ED]\d+$/.test(normalised(word));
}

function normalised(code: string): string {
  const upper = code.trim().toUpperCase();
  return /^[ED]\d+$/.test(upper) ? `N2I-${upper}` : upper;
}
