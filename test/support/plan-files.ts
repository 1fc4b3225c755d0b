import { readdirSync, readFileSync } from "node:fs";
import type { PlannedMachine } from "../../src/model/plan.ts";

/** All that a run's plan says, of Nova or of everything. */
export function planWords(run: string, of: "nova" | "all" = "all"): string {
  return readdirSync(`${run}/plan`)
    .filter((name) => of === "all" || name.startsWith("nova-"))
    .map((name) => readFileSync(`${run}/plan/${name}`, "utf8"))
    .join("");
}

export function machinesIn(run: string): readonly PlannedMachine[] {
  const lines = readFileSync(`${run}/plan/machines.jsonl`, "utf8").trimEnd().split("\n");
  // The tool wrote it a moment ago.
  return lines.slice(1, -1).map((line) => JSON.parse(line) as PlannedMachine);
}
