import { renderLine, SIGNS } from "../core/render/summary.ts";
import type { PlannedMachine, Verdict } from "../model/plan.ts";

/** Lines of machines a summary shows before it only counts. */
const SHOWN = 20;

/** The machine lines of the summary: those that need a look first, a few of the others, the rest counted. */
export function createLines() {
  const kept: PlannedMachine[] = [];
  const seen: Partial<Record<Verdict, number>> = {};
  return {
    add(machine: PlannedMachine): void {
      const count = (seen[machine.verdict] ?? 0) + 1;
      seen[machine.verdict] = count;
      if (count <= SHOWN) kept.push(machine);
    },
    text(): readonly string[] {
      const verdicts = Object.keys(seen) as Verdict[];
      const more = verdicts
        .map((verdict) => [verdict, (seen[verdict] ?? 0) - SHOWN] as const)
        .filter(([, count]) => count > 0)
        .map(([verdict, count]) => `  ${SIGNS[verdict][0]} and ${count} more ${verdict}`);
      const legend = verdicts.map(
        (verdict) => `${SIGNS[verdict][0]} ${verdict}: ${SIGNS[verdict][1]}`,
      );
      return [...kept.map(renderLine), ...more, "", ...legend.map((line) => `  ${line}`), ""];
    },
  };
}
