import { readdirSync, readFileSync } from "node:fs";

/** Paths in a run's folder of all that its present plan is made of. */
function planFiles(run: string): readonly string[] {
  return readdirSync(`${run}/plan`).map((name) => `plan/${name}`);
}

/** All that a run's plan says, of Nova or of everything. */
export function planWords(run: string, of: "nova" | "all" = "all"): string {
  return planFiles(run)
    .filter((name) => of === "all" || name.startsWith("plan/nova-"))
    .map((name) => readFileSync(`${run}/${name}`, "utf8"))
    .join("");
}
