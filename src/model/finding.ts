import { FINDINGS, type FindingCode, type Severity } from "./findings.ts";

/** A problem in the data: reported, never thrown, and all of them collected. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** Table, row and column: `bm_nodes.id=9 pm_address`. */
  readonly place: string;
  /** What was found there, without secrets. */
  readonly message: string;
  /** The operator's reason from the site document, when the finding was accepted there. */
  readonly accepted?: string;
}

/** The operator's word in the site document. */
export interface Acceptance {
  readonly finding: FindingCode;
  readonly reason: string;
}

/** A finding with the severity its code has. */
export function finding(code: FindingCode, place: string, message: string): Finding {
  return { code, severity: FINDINGS[code].severity, place, message };
}

const NONE: readonly Finding[] = [];

/** The finding where something is so; nothing otherwise. Asked of every machine, its words are better made only then. */
export function findingIf(
  isSo: boolean,
  code: FindingCode,
  place: string,
  message: string,
): readonly Finding[] {
  return isSo ? [finding(code, place, message)] : NONE;
}

/** All of them in one list: nearly every one is empty. */
export function together(lists: readonly (readonly Finding[])[]): readonly Finding[] {
  let all = NONE;
  for (const list of lists) {
    if (list.length === 0) continue;
    all = all.length === 0 ? list : [...all, ...list];
  }
  return all;
}

/** Marks the findings the operator accepted, where the kind may be accepted at all. */
export function accept(
  findings: readonly Finding[],
  acceptances: readonly Acceptance[],
): readonly Finding[] {
  if (acceptances.length === 0 || findings.length === 0) return findings;
  return findings.map((found) => {
    const acceptance = acceptances.find(({ finding: code }) => code === found.code);
    if (acceptance === undefined) return found;
    const { severity, acceptable } = FINDINGS[found.code];
    const allowed = severity !== "blocks" || acceptable === true;
    return allowed ? { ...found, accepted: acceptance.reason } : found;
  });
}

/** Whether a finding keeps its machine from being loaded. */
export function blocks(found: Finding): boolean {
  return found.severity === "blocks" && found.accepted === undefined;
}
