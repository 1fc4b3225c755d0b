import { type Finding, finding } from "../../model/finding.ts";
import type { Json } from "../../model/json.ts";
import type { Desired, Resource } from "../../model/plan.ts";
import { applyRule, place, type RuleSources, type SettledRules } from "./compile.ts";

export interface Made {
  readonly record: Desired;
  readonly findings: readonly Finding[];
}

/**
 * Runs the rules over one machine or interface. The first rule that gives a field wins; a plain
 * column no rule could fill is NULL, so that verify sees when somebody fills it.
 *
 * @param place shown with findings: `bm_nodes.id=9`
 */
export function makeRecord(
  resource: Resource,
  { rules, plain }: SettledRules,
  sources: RuleSources,
  where: string,
): Made {
  const row: Record<string, Json> = {};
  const origins: number[] = [];
  const findings: Finding[] = [];
  for (const rule of rules) {
    const applied = applyRule(rule, sources);
    if (applied === null) {
      if (rule.missing !== null && !isSet(row, rule.path))
        findings.push(finding(rule.missing, where, `nothing gives ${rule.to}`));
    } else if ("fault" in applied) {
      findings.push(finding("N2I-D303", `${where} ${applied.source}`, applied.fault));
    } else if (place(row, rule.path, applied.value)) {
      origins.push(applied.origin);
    }
  }
  for (const column of plain) row[column] ??= null;
  // A set, in the order it is read back in.
  const { traits } = row;
  if (Array.isArray(traits)) row.traits = [...(traits as readonly Json[])].toSorted();
  return {
    record: { resource, id: `${resource}:${String(row.uuid)}`, row, origins },
    findings,
  };
}

function isSet(row: Readonly<Record<string, Json>>, path: readonly string[]): boolean {
  let at: unknown = row;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return false;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at !== undefined && at !== null;
}
