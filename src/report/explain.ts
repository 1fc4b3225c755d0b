import { MigrationError } from "../model/error.ts";
import { FINDINGS, type FindingKind } from "../model/findings.ts";
import { EXIT_STATUS, type ExitName, REFUSALS, type Refusal } from "../model/refusals.ts";
import { nearest } from "./nearest.ts";

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
  if (finding !== undefined) return findingText(wanted, finding);
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
          ? "List all codes with: nova2ironic explain"
          : `Did you mean ${near.join(" or ")}? List all codes with: nova2ironic explain`,
    },
  );
}

export const CODE_COLUMNS = ["Code", "Kind", "Title"] as const;

/** Every code as a row for `printRows`, with CODE_COLUMNS. */
export function codeRows(): readonly (readonly string[])[] {
  return [
    ...[...refusals].map(([code, { exit, title }]) => [code, `exit ${exit}`, title]),
    ...[...findings].map(([code, { severity, title }]) => [code, severity, title]),
  ];
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

function findingText(code: string, { severity, title, advice, acceptable }: FindingKind): string {
  const accepting =
    acceptable === true ? "\nAccept: the site document can accept it, with a reason" : "";
  return `${code}: ${title}\n\nSeverity: ${SEVERITIES[severity]}${accepting}\nAdvice: ${advice}\n`;
}

/** Whether a word has the form of a code. */
export function isCode(word: string): boolean {
  return /^N2I-[ED]\d+$/.test(normalised(word));
}

function normalised(code: string): string {
  const upper = code.trim().toUpperCase();
  return /^[ED]\d+$/.test(upper) ? `N2I-${upper}` : upper;
}
