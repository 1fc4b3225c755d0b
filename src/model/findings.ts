import type { Severity } from "./findings/kind.ts";
import { LEGACY_MOVES, MOVES, UPGRADE } from "./findings/nova.ts";
import { POWER } from "./findings/power.ts";
import { RECORD } from "./findings/record.ts";
import { SOURCE } from "./findings/source.ts";

export type { FindingKind, Severity } from "./findings/kind.ts";

/**
 * Every possible problem in the data. Codes are never reused.
 * @source facts/nova-bm.md 1.5-1.11, 2.3-2.4, 3, 5.5; facts/ironic.md 0-3; facts/ipmi.md 6.8
 */
export const FINDINGS = { ...SOURCE, ...UPGRADE, ...MOVES, ...LEGACY_MOVES, ...RECORD, ...POWER };

export type FindingCode = keyof typeof FINDINGS;

/** A problem in the data. Findings are collected and reported, never thrown. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** Table, row and column: `bm_nodes.id=9 pm_address`. */
  readonly place: string;
  /** Without secrets. */
  readonly message: string;
  /** Reason from the site document, if accepted there. */
  readonly accepted?: string;
}

export interface Acceptance {
  readonly finding: FindingCode;
  readonly reason: string;
}

export function finding(code: FindingCode, location: string, message: string): Finding {
  return { code, severity: FINDINGS[code].severity, place: location, message };
}

const NONE: readonly Finding[] = [];

/** For every machine: build the message only if the condition is true. */
export function findingIf(
  isSo: boolean,
  code: FindingCode,
  location: string,
  message: string,
): readonly Finding[] {
  return isSo ? [finding(code, location, message)] : NONE;
}

/** Concatenates lists, most of which are empty. */
export function merge(lists: readonly (readonly Finding[])[]): readonly Finding[] {
  let all = NONE;
  for (const list of lists) {
    if (list.length === 0) continue;
    all = all.length === 0 ? list : [...all, ...list];
  }
  return all;
}

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

export function blocks(found: Finding): boolean {
  return found.severity === "blocks" && found.accepted === undefined;
}
