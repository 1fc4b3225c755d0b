import type { Finding } from "./finding.ts";
import { FINDINGS, type FindingCode, type FindingKind } from "./findings.ts";
import type { Acceptance } from "./mapping.ts";

/** A finding with the severity its code has. */
export function finding(code: FindingCode, place: string, message: string): Finding {
  return { code, severity: FINDINGS[code].severity, place, message };
}

/** Marks the findings the operator accepted, where the kind may be accepted at all. */
export function accept(
  findings: readonly Finding[],
  acceptances: readonly Acceptance[],
): readonly Finding[] {
  if (acceptances.length === 0) return findings;
  return findings.map((found) => {
    const kind: FindingKind = FINDINGS[found.code];
    const acceptance = acceptances.find(({ finding: code }) => code === found.code);
    const allowed = kind.severity !== "blocks" || kind.acceptable === true;
    return acceptance && allowed ? { ...found, accepted: acceptance.reason } : found;
  });
}

/** Whether a finding keeps its machine from being loaded. */
export function blocks(found: Finding): boolean {
  return found.severity === "blocks" && found.accepted === undefined;
}
