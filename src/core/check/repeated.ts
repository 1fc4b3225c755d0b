import type { CheckResult } from "../../model/check.ts";
import type { PlanFacts } from "../../model/check-plan.ts";
import { FINDINGS, type FindingCode } from "../../model/findings.ts";
import { told } from "./look.ts";

/**
 * Rows that repeat what the plan found in Nova and nobody sees by looking at its rows now. Those a
 * row finds by itself are not here: volumes, hosts of instances, deploy images that stay.
 */
export const REPEATED: { readonly [code in FindingCode]?: string } = {
  "N2I-D221": "Aggregates",
  "N2I-D222": "Instances planned and loaded",
  "N2I-D228": "Hosts of instances",
  "N2I-D229": "Hosts of instances",
  "N2I-D232": "Flavors",
  "N2I-D233": "Flavors",
  "N2I-D234": "Flavors",
  "N2I-D236": "Flavors",
  "N2I-D237": "Flavors",
  "N2I-D239": "Flavors",
  "N2I-D240": "Flavors",
  "N2I-D241": "Aggregates",
  "N2I-D242": "Hosts of instances",
  "N2I-D244": "Hosts of instances",
};

/** What the plan found for a row, a part a code; what blocks a machine and is not accepted fails. */
export function repeated(title: string, plan: PlanFacts | null): readonly CheckResult[] {
  if (plan === null) return [];
  // Object.keys knows no better than string.
  const codes = Object.keys(REPEATED) as FindingCode[];
  return codes
    .filter((code) => REPEATED[code] === title)
    .flatMap((code) => {
      const of = (accepted: boolean): readonly string[] =>
        plan.machines
          .filter(({ findings }) => findings.get(code) === accepted)
          .map(({ id, uuid }) => `bm_nodes.id=${id} ${uuid}`);
      const alone = (plan.nova?.findings ?? [])
        .filter((found) => found.code === code)
        .map(({ place, message }) => `${place} ${message}`);
      const { severity, title: what, advice } = FINDINGS[code];
      const result = severity === "blocks" ? "Failure" : "Warning";
      return [
        told([...alone, ...of(false)], `findings ${code} of the plan, ${what}`, advice, result),
        told(of(true), `findings ${code} of the plan, ${what}, as you accepted`, advice, "Warning"),
      ];
    });
}
